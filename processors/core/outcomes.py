"""What a provider's answer means for a reply. The table is total: every answer has a meaning.

Owns: the table, and what each provider's contract adds to it (key life, look-up, codes).
May not: decide what becomes of the reply; the ledger does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from processors.core.retry import HOUR_MS
from schemas.keys import canonical_id


class Verdict(StrEnum):
    """What a call came to."""

    ACCEPTED = "accepted"
    NOT_NOW = "not-now"  # refused for a while; certainly not sent by this call
    UNKNOWN = "unknown"  # perhaps sent: only the same key and the same bytes may go again
    IN_CONFLICT = "in-conflict"  # the key is in use: running still, or with other content
    RUNNING = "running"  # the key is in use by a call of ours that has not ended
    OTHER_CONTENT = "other-content"  # the key was used with other bytes: never repeat
    REJECTED = "rejected"  # this message will never be taken
    PAUSE = "pause"  # not about this message: the account cannot send now
    UNWRITTEN = "unwritten"  # no byte left us


class Failure(StrEnum):
    """Why there is no answer."""

    NONE = ""
    TIMEOUT = "timeout"
    CONNECTION = "connection"  # it broke after the request had begun to leave us
    UNREACHED = "unreached"  # no connection: no byte of the request left us
    LOST = "lost"  # the lease ran out and nothing was heard of the call
    UNWRITTEN = "unwritten"  # the lease ran out before the call was made
    UNCONFIGURED = "unconfigured"  # no usable account or key on our side


class Health(StrEnum):
    """What a call says about the account, apart from this message."""

    WELL = "well"
    FAILING = "failing"  # an outage if others see it too
    SICK = "sick"  # nothing can be sent until somebody mends it
    SILENT = "silent"  # nothing was learnt


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back from one call, or why nothing did. Status 0: no answer."""

    status: int = 0
    failure: Failure = Failure.NONE
    retry_after: str | None = None
    code: str | None = None
    message_id: str | None = None
    thread_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """The call was not made: this kill switch is off, or its state is not known."""

    switch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """A look into the thread. With a 200, `found` is our reply, or None: it is not there."""

    answer: Answer
    found: tuple[str, str | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What a provider promises about keys, and how it names its refusals.

    `key_ttl_ms` of 0: no idempotency key, so an unknown outcome is never repeated.
    """

    key_ttl_ms: int
    can_look_up: bool
    conflicts: Mapping[str, Verdict] = field(default_factory=dict)
    conflict: Verdict = Verdict.IN_CONFLICT
    # Codes that make a status which is usually about the account one about the message, or back.
    about_message: frozenset[str] = frozenset()
    about_account: frozenset[str] = frozenset()


# Keys count as dead this long before the provider forgets them: clocks differ, calls take time.
KEY_MARGIN_MS: Final = HOUR_MS // 2

CONTRACTS: Final[Mapping[str, Contract]] = {
    # providers.md 1.5, 1.6, 1.8. One code for both kinds of conflict: nothing tells them apart.
    "agentmail": Contract(
        key_ttl_ms=24 * HOUR_MS,
        can_look_up=True,
        about_message=frozenset({"message_rejected"}),
    ),
}

BY_FAILURE: Final[Mapping[Failure, Verdict]] = {
    Failure.TIMEOUT: Verdict.UNKNOWN,
    Failure.CONNECTION: Verdict.UNKNOWN,
    Failure.LOST: Verdict.UNKNOWN,
    Failure.UNREACHED: Verdict.UNWRITTEN,
    Failure.UNWRITTEN: Verdict.UNWRITTEN,
    Failure.UNCONFIGURED: Verdict.PAUSE,
}
BY_STATUS: Final[Mapping[int, Verdict]] = {
    401: Verdict.PAUSE,
    402: Verdict.PAUSE,
    403: Verdict.PAUSE,
    408: Verdict.UNKNOWN,
    429: Verdict.NOT_NOW,
}
# By the first digit; anything that is no HTTP status at all counts as unknown.
BY_CLASS: Final[Mapping[int, Verdict]] = {4: Verdict.REJECTED}

_OK: Final = range(200, 300)
_CONFLICT: Final = 409
_SERVER_ERRORS: Final = range(500, 600)


def judge(answer: Answer, contract: Contract) -> Verdict:
    """What this answer to a post means. Total: no answer is left without a meaning."""
    code = answer.code or ""
    if answer.failure:
        return BY_FAILURE[answer.failure]
    if answer.status in _OK:
        return Verdict.ACCEPTED if answer.message_id else Verdict.UNKNOWN
    if answer.status == _CONFLICT:
        return contract.conflicts.get(code, contract.conflict)
    if code in contract.about_account:
        return Verdict.PAUSE
    usual = BY_STATUS.get(answer.status) or BY_CLASS.get(answer.status // 100, Verdict.UNKNOWN)
    if usual is Verdict.PAUSE and code in contract.about_message:
        return Verdict.REJECTED
    return usual


def health(answer: Answer, verdict: Verdict) -> Health:
    """What this answer says about the account."""
    if answer.failure in {Failure.LOST, Failure.UNWRITTEN}:
        return Health.SILENT
    if verdict is Verdict.PAUSE:
        return Health.SICK
    if answer.failure or answer.status in _SERVER_ERRORS:
        return Health.FAILING
    return Health.WELL


def is_our_reply(labels: object, in_reply_to: object, *, answered_id: str) -> bool:
    """Whether a message of the thread is our reply to that one: label sent, In-Reply-To equal."""
    if not isinstance(labels, Sequence) or not isinstance(in_reply_to, str):
        return False
    return "sent" in labels and canonical_id(in_reply_to) == answered_id


def reason(answer: Answer) -> str:
    """The answer in a word or two, fit for receipts and logs: never a provider's free text."""
    if answer.failure:
        return str(answer.failure)
    code = answer.code or ""
    is_plain = code.isascii() and code.replace("_", "").replace("-", "").isalnum()
    # Longer codes are sentences in disguise, and sentences may quote the mail.
    return f"{answer.status} {code}" if is_plain and len(code) <= 64 else str(answer.status)  # noqa: PLR2004

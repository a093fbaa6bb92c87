"""What becomes of a mail, as a table of named rules: the first that applies decides.

Owns: the rules, their order, and why each is there. Names are public (they stand in `decisions`,
`audit` and metrics), so a name never changes its meaning.
May not: read state, a clock or a setting; all of that is in the Findings.

The order: what is true of the mail whoever reads it, routes that answer nothing, our own mail come
back, machines, nobody to answer, caps, doubts for a person, and last the route's own word. Caps
stand before doubts, because a held mail costs a writer too. Not in the table, on purpose: words of
the subject (no evidence), Feedback-ID (senders add it to all mail), and an inbox that To and Cc do
not name (Bcc and aliases are ordinary; the envelope decides where a mail belongs).
"""

from typing import Final

import msgspec

from processors.core import findings as ask
from processors.core import signals
from processors.core.caps import CAP_CORRESPONDENT, CAP_DOMAIN, CAP_INBOX, CAP_THREAD
from processors.core.findings import Findings, Predicate

STORE: Final = "store"
NOTIFY: Final = "notify"
DRAFT: Final = "draft"
SEND: Final = "send"
HOLD: Final = "hold"
QUARANTINE: Final = "quarantine"
REFUSE: Final = "refuse"

# A reply is asked for; for draft and hold a person sees it before it leaves.
ASKED: Final = frozenset({SEND, DRAFT, HOLD})
# Routes on which no reply is ever owed; such an inbox needs no account.
WITHOUT_REPLY: Final = frozenset({STORE, NOTIFY, QUARANTINE, REFUSE})


class Rule(msgspec.Struct, frozen=True):
    """One row of the table."""

    name: str
    outcome: str
    applies: Predicate
    why: str


def judge(found: Findings) -> Rule:
    """The first rule that applies. Never raises: the last one applies to everything."""
    return next(rule for rule in RULES if rule.applies(found))


def _always(_found: Findings) -> bool:
    return True


_MAIL_ITSELF: Final = (
    Rule("no-route", STORE, ask.is_routed(None), "sending is opted into, inbox by inbox"),
    Rule("spam", QUARANTINE, ask.is_spam, "the provider calls it spam"),
    Rule("virus", QUARANTINE, lambda found: found.verdicts.virus == "fail", "it carries a virus"),
    Rule("dmarc", QUARANTINE, lambda found: found.verdicts.dmarc == "fail", "From is forged"),
    Rule("blocked", QUARANTINE, ask.is_labelled("blocked", "trash"), "the provider set it aside"),
)
_ROUTES_WITHOUT_REPLY: Final = (
    Rule("route-store", STORE, ask.is_routed(STORE), "the inbox stores"),
    Rule("route-notify", NOTIFY, ask.is_routed(NOTIFY), "the inbox notifies"),
    Rule("route-quarantine", QUARANTINE, ask.is_routed(QUARANTINE), "the inbox quarantines"),
    Rule("route-refuse", REFUSE, ask.is_routed(REFUSE), "the inbox answers nobody"),
)
_OWN_ECHO: Final = (
    Rule("own-message-id", REFUSE, lambda found: found.has_own_id, "we sent this very mail"),
    Rule("own-address", REFUSE, ask.is_from_us, "an inbox of ours never answers one of ours"),
    Rule("own-loop-mark", REFUSE, ask.has_our_loop_mark, "our own mail came back changed"),
)
_MACHINES: Final = (
    Rule("bounce", REFUSE, ask.is_report("delivery-status"), "RFC 3464: a delivery report"),
    Rule("mdn", REFUSE, ask.is_report("disposition-notification"), "RFC 8098: a read receipt"),
    Rule("feedback-report", REFUSE, ask.is_report("feedback-report"), "RFC 5965: a complaint"),
    Rule("report", REFUSE, ask.is_report("other"), "RFC 6522: machines write reports"),
    Rule("failed-recipients", REFUSE, ask.has_field("x-failed-recipients"), "Exim's bounce"),
    Rule(
        "null-return-path",
        REFUSE,
        ask.says("return-path", signals.is_null_path),
        "RFC 3834 2: MUST NOT answer a null return path",
    ),
    Rule(
        "auto-submitted",
        REFUSE,
        ask.says("auto-submitted", signals.is_automatic),
        "RFC 3834 2: no answer to what is not Auto-Submitted: no",
    ),
    Rule("list", REFUSE, ask.has_field(*signals.LIST_FIELDS), "RFC 5230 4.6: no answer to lists"),
    Rule("precedence", REFUSE, ask.says("precedence", signals.is_bulk), "bulk, junk or list"),
    Rule(
        "x-precedence",
        REFUSE,
        ask.says("x-precedence", signals.is_auto_reply),
        "an automatic reply that says so",
    ),
    Rule(
        "auto-response-suppress",
        REFUSE,
        ask.says("x-auto-response-suppress", signals.is_suppressing),
        "MS-OXCMAIL 2.1.3.2.20: the sender asks for no automatic answer",
    ),
    Rule("machine-mark", REFUSE, ask.is_marked_by_a_machine, "an autoresponder's own field"),
    Rule(
        "autoresponder",
        REFUSE,
        ask.says("delivered-to", signals.is_autoresponder),
        "an autoresponder had it before us",
    ),
    Rule("hops", REFUSE, ask.has_looped, "RFC 5321 6.3: a hundred hops is a loop"),
    Rule("machine-sender", REFUSE, ask.is_from_a_machine, "RFC 5230 4.6: names of daemons, lists"),
    Rule("no-reply-sender", REFUSE, ask.is_no_reply, "its name says that nobody reads answers"),
)
_NOBODY: Final = (
    Rule("no-sender", REFUSE, ask.has_nobody_to_answer, "From is not one address"),
    Rule("suppressed", REFUSE, lambda found: found.has_suppressed_address, "no mail goes there"),
)
_LIMITS: Final = (
    Rule(
        "too-old",
        STORE,
        lambda found: found.is_too_old,
        "older than the memory of what was answered: it may have been",
    ),
    Rule(CAP_THREAD, STORE, ask.is_full(CAP_THREAD), "replies a thread and hour"),
    Rule(CAP_CORRESPONDENT, STORE, ask.is_full(CAP_CORRESPONDENT), "a correspondent and day"),
    Rule(CAP_DOMAIN, STORE, ask.is_full(CAP_DOMAIN), "replies a sender's domain and day"),
    Rule(CAP_INBOX, STORE, ask.is_full(CAP_INBOX), "replies an inbox and hour"),
)
_DOUBTS: Final = (
    Rule("headers-unknown", HOLD, lambda found: found.signals is None, "unknown is not allowed"),
    Rule("derived-id", HOLD, lambda found: found.has_derived_id, "it cannot be threaded by its id"),
    Rule("body-unknown", HOLD, lambda found: found.has_unknown_body, "its text was left out"),
    Rule("unauthenticated", HOLD, ask.is_unauthenticated, "unknown is not pass"),
    Rule(
        "unclear-reply-to",
        HOLD,
        lambda found: not found.has_clear_reply_to,
        "an answer goes to one person, and a mail must not choose several",
    ),
    Rule("newer-asked", HOLD, lambda found: found.has_newer_asked, "its thread has moved on"),
)
_ROUTES: Final = (
    Rule("route-send", SEND, ask.is_routed(SEND), "the inbox answers"),
    Rule("route-draft", DRAFT, ask.is_routed(DRAFT), "the inbox drafts"),
    # Last, so that whatever is left is held, never sent.
    Rule("route-hold", HOLD, _always, "the inbox holds for a person"),
)

RULES: Final = (
    *_MAIL_ITSELF,
    *_ROUTES_WITHOUT_REPLY,
    *_OWN_ECHO,
    *_MACHINES,
    *_NOBODY,
    *_LIMITS,
    *_DOUBTS,
    *_ROUTES,
)

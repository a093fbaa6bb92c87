"""AgentMail's "get message", as an outcome.

Owns: the path, what each status means for a reading, and the limit on an answer's size.
May not: try again.
"""

from collections.abc import Mapping
from typing import Final

from processors.core.fetch_calls import Found, Never, NotNow, NotThere, Outcome, ReadCall
from processors.core.requests import segment
from processors.core.turn import MAX_VALUE_BYTES
from processors.providers.account_http import AccountHttp, Heard
from processors.providers.agentmail import payload_of
from schemas.directory import Account
from schemas.errors import DecodeError

_OK: Final = 200
_NOT_FOUND: Final = 404
# Refused for now: a key that somebody may mend, a limit, a call that ran out.
_LATER: Final = frozenset({401, 403, 408, 409, 425, 429})
_CLIENT_ERRORS: Final = range(400, 500)


class AgentMailReader:
    """Reads messages through one account. `environ` is where its key is looked up, each time.

    Its connections live in the event loop that first uses it.
    """

    def __init__(self, account: Account, *, environ: Mapping[str, str]) -> None:
        self._http = AccountHttp(account, environ=environ)

    async def read(self, call: ReadCall, *, timeout_s: float) -> Outcome:
        """What came of one call. Ends within the time given, whatever the server does."""
        heard = await self._http.get(_path(call), limit=MAX_VALUE_BYTES, timeout_s=timeout_s)
        if heard.failure:
            # The kind alone: what a client says of an address is not for topics.
            return NotNow(reason=heard.cause)
        if heard.status != _OK:
            return _refusal(heard)
        if heard.body is None:
            return Never(reason=f"an answer of more than {MAX_VALUE_BYTES} bytes")
        return _message(heard.body, call)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.close()


def _path(call: ReadCall) -> str:
    inbox, message = segment(call.inbox_id), segment(call.spelling)
    return f"/v0/inboxes/{inbox}/messages/{message}"


def _message(answer: bytes, call: ReadCall) -> Outcome:
    try:
        body = payload_of(
            answer, event_id=call.event_id, inbox_id=call.inbox_id, message_id=call.message_id
        )
    except DecodeError as error:
        return NotNow(reason=str(error))
    return Found(body=body)


def _refusal(heard: Heard) -> Outcome:
    reason = f"status {heard.status}"
    if heard.status == _NOT_FOUND:
        return NotThere(reason=reason, retry_after=heard.retry_after)
    if heard.status in _LATER or heard.status not in _CLIENT_ERRORS:
        return NotNow(reason=reason, retry_after=heard.retry_after)
    return Never(reason=reason)

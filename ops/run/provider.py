"""The stand-in provider as its operator sees it: mail put in, webhooks, faults, the mailbox.

Owns: the client of its control side.
May not: count anything itself; the provider's own counts are what is trusted.
"""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final, Self

import httpx

from ops.run.directory import Hook
from ops.standin.payloads import BUILDERS
from schemas.errors import Transient

# Its answers take milliseconds; a long poll is bounded by its own time, and gets this on top.
PATIENCE_S: Final = 15.0
LONGEST_POLL_S: Final = 30.0
CLIENT_ID: Final = "onereply-run"

Mail = dict[str, Any]


class Provider:
    """A stand-in that listens at `url`."""

    def __init__(self, url: str) -> None:
        self.url = url
        # Loopback only: a proxy from the environment would be asked for nothing.
        self._client = httpx.Client(base_url=url, timeout=PATIENCE_S, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()

    def counts(self) -> dict[str, Any]:
        """Every count, and how many mails answered each message, by inbox and message id."""
        return self._asked("GET", "/_standin/counts")

    def wait(self, *, timeout_s: float, **counts: int) -> bool:
        """Whether every named count is reached within the time; returns as soon as it is."""
        end = time.monotonic() + timeout_s
        while True:
            left_s = max(0.0, min(end - time.monotonic(), LONGEST_POLL_S))
            params = {**counts, "timeout": round(left_s, 3)}
            found = self._asked("GET", "/_standin/wait", params=params, timeout=PATIENCE_S + left_s)
            if found["reached"] or time.monotonic() >= end:
                return bool(found["reached"])

    def mailbox(self, *, after: int = 0) -> list[Mail]:
        """The mails accepted from us after this sequence number, in the order of acceptance."""
        mails: list[Mail] = []
        while True:
            page = self._asked("GET", "/_standin/mailbox", params={"after": after + len(mails)})
            mails += page["mails"]
            if "next_after" not in page:
                return mails

    def requests(self) -> list[dict[str, Any]]:
        """What clients have asked for, oldest first."""
        found: list[dict[str, Any]] = self._asked("GET", "/_standin/requests")["requests"]
        return found

    def put(self, mails: Sequence[Mail], *, webhooks: str = "none") -> list[Mail]:
        """Let customers' mails lie in their inboxes, and tell the webhooks of them or not."""
        body = {"mails": list(mails), "webhooks": webhooks}
        found: list[Mail] = self._asked("POST", "/_standin/inbound", json=body)["mails"]
        return found

    def deliveries(self, event_id: str) -> list[dict[str, Any]]:
        """What came of each telling of this event."""
        found = self._asked("GET", "/_standin/deliveries")["deliveries"]
        return [each for each in found if each["event_id"] == event_id]

    def add_faults(self, *faults: dict[str, Any]) -> None:
        """Let the next requests that are meant meet these."""
        self._asked("POST", "/_standin/faults", json={"faults": faults})

    def release(self) -> None:
        """Let held requests go on."""
        self._asked("POST", "/_standin/release")

    def open_inboxes(self, inboxes: Sequence[str]) -> None:
        """Let these inboxes exist."""
        for inbox_id in inboxes:
            self._asked("POST", "/_standin/inboxes", json={"inbox_id": inbox_id})

    def have_webhooks(self, hooks: Sequence[Hook], *, door: str, api_key: str) -> None:
        """Have exactly these webhooks to the door, whatever an earlier run has left."""
        headers = {"authorization": f"Bearer {api_key}"}
        for left in self._asked("GET", "/v0/webhooks", headers=headers)["webhooks"]:
            if str(left.get("client_id", "")).startswith(CLIENT_ID):
                webhook_id = left["webhook_id"]
                self._asked("DELETE", f"/v0/webhooks/{webhook_id}", headers=headers)
        for hook in hooks:
            body = {
                "url": f"{door}/webhooks/{hook.source}",
                # By name, because three types come to those only that name them.
                "event_types": list(BUILDERS),
                "inbox_ids": hook.inboxes,
                "secret": hook.secret,
                "client_id": f"{CLIENT_ID}-{hook.source}",
            }
            self._asked("POST", "/_standin/webhooks", json=body)

    def _asked(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        try:
            answer = self._client.request(method, path, **options)
            answer.raise_for_status()
        except httpx.HTTPStatusError as error:
            said = f"{error.response.status_code} {error.response.text[:200]}"
            raise Transient(f"The stand-in provider refused {method} {path}: {said}") from error
        except httpx.HTTPError as error:
            raise Transient(f"The stand-in provider at {self.url} does not answer.") from error
        found: dict[str, Any] = answer.json() if answer.content else {}
        return found

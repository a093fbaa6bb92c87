"""The whole path as processes: the door, every stage, and the stand-in provider.

Each test drives it with events of its own and looks at the stand-in's mailbox. Waits are for
signals: log lines, records that come, mails that the stand-in counts.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec

from ops.standin.launch import running
from ops.standin.payloads import message_received, to_body
from ops.standin.signing import secret_of, signed_headers
from schemas.cluster import create_topics
from schemas.events import ORDERED_EVENT
from schemas.settings import Settings
from schemas.topics import Topic
from tests.logs import corner, environ_of, records_in
from tests.processes import DEADLINE_S, Process, clean_environ

STAGES: Final = ("dedupe", "fetch", "reorder", "decide", "write", "send")
SECRET: Final = secret_of(b"a signing key for tests only")
INBOXES: Final = tuple(f"desk-{number}@inbox.example" for number in range(10))
# Short waits, so that a death is mended within seconds. Relations are those of production.
QUICK: Final[dict[str, Any]] = {
    "partitions": 2,
    "grace_ms": 300,
    # Longer than a process is away in any test: what is late then is held for a person.
    "predecessor_wait_ms": 60_000,
    "lease_ms": 3_000,
    "provider_timeout_ms": 2_000,
    "session_timeout_ms": 6_000,
    "transaction_timeout_ms": 4_000,
    "writer_deadline_ms": 2_000,
    "writer_timeout_ms": 4_000,
    # Every test of a run writes to the same ten inboxes.
    "cap_inbox_hour": 100_000,
}


class Mail(msgspec.Struct, frozen=True, kw_only=True):
    """A customer's mail as the provider has it; `payload` is what its webhook says."""

    event_id: str
    whole: dict[str, Any]
    is_cut: bool = False

    @property
    def payload(self) -> dict[str, Any]:
        """The webhook's body. Above its cap of 1 MB the provider leaves the text out."""
        if not self.is_cut:
            return self.whole
        kept = {k: v for k, v in self.message.items() if k not in ("text", "extracted_text")}
        return self.whole | {"message": kept | {"size": 2_000_000}}

    @property
    def message(self) -> dict[str, Any]:
        """The message object."""
        found: dict[str, Any] = self.whole["message"]
        return found

    @property
    def identity(self) -> tuple[str, str]:
        """The inbox, and the message in it."""
        return self.message["inbox_id"], self.message["message_id"]


@dataclass(slots=True)
class Pipeline:
    """A running set. `processes` by name; `door` is the URL of its webhook route."""

    settings: Settings
    standin: str
    client: httpx.Client
    processes: dict[str, Process] = field(default_factory=dict)
    door: str = ""

    def open_door(self) -> None:
        """Start the door and learn where it listens. A second start keeps the port."""
        process = self.processes["door"]
        port = self.door.rpartition(":")[2].partition("/")[0] if self.door else "0"
        process.start(ONEREPLY_LISTEN_PORT=port)
        self.door = process.wait_for("door open")["url"].rstrip("/") + "/webhooks/agentmail"

    def restart(self, name: str, **environ: str) -> None:
        """Start a process that was killed."""
        if name == "door":
            self.open_door()
        else:
            self.processes[name].start(**environ)

    def know(self, mails: Sequence[Mail]) -> None:
        """Put mails into the provider's inboxes, telling nobody: the test delivers them."""
        for start in range(0, len(mails), 100):
            self.ask(
                "inbound",
                {
                    "mails": [mail.whole for mail in mails[start : start + 100]],
                    "webhooks": "none",
                },
            )

    def ask(self, what: str, body: Any) -> Any:
        """Steer the stand-in."""
        answer = self.client.post(f"{self.standin}/_standin/{what}", json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def deliver(self, mail: Mail, *, attempt: int = 1, delivery_id: str = "") -> int:
        """One delivery, as a provider makes it; the status, or 0 when nobody answered."""
        body = to_body(mail.payload)
        id_ = delivery_id or f"msg_{mail.event_id}"
        headers = signed_headers(SECRET, id_, timestamp=int(time.time()), body=body)
        headers |= {"content-type": "application/json", "x-attempt": str(attempt)}
        try:
            return self.client.post(self.door, content=body, headers=headers).status_code
        except httpx.TransportError:
            return 0

    def replies(self) -> Counter[tuple[str, str]]:
        """How many mails answer each message, by the provider's own count."""
        counts = self.client.get(f"{self.standin}/_standin/counts").json()
        return Counter(
            {
                (inbox, message): count
                for inbox, answered in counts["replies"].items()
                for message, count in answered.items()
            }
        )

    def told(self, mails: Sequence[Mail]) -> Counter[tuple[str, str]]:
        """How often each of these messages stands on the public topic."""
        ours = {mail.identity for mail in mails}
        events = (
            ORDERED_EVENT.decode(record.value).event
            for record in records_in(self.settings, Topic.ORDERED_EVENTS)
        )
        identities = ((event.inbox_id, f"<{event.message_id}>") for event in events)
        return Counter(identity for identity in identities if identity in ours)

    def await_mails(self, count: int, *, deadline_s: float = DEADLINE_S) -> None:
        """Return once the provider has accepted that many mails in all."""
        give_up_at_s = time.monotonic() + deadline_s
        while True:
            left_s = give_up_at_s - time.monotonic()
            answer = self.client.get(
                f"{self.standin}/_standin/wait",
                params={"accepted": count, "timeout": max(min(left_s, 10.0), 0.1)},
                timeout=30,
            ).json()
            if answer["reached"]:
                return
            assert left_s > 0, (
                f"{answer['accepted']} of {count} mails were accepted\n{self.story()}"
            )

    def story(self) -> str:
        """Where things stand, for whoever reads a failure."""
        counts = {
            str(topic): len(records_in(self.settings, topic))
            for topic in Topic
            if not topic.endswith("-state")
        }
        rules = Counter(
            msgspec.json.decode(record.value or b"{}").get("rule")
            for record in records_in(self.settings, Topic.DECISIONS)
        )
        releases = Counter(
            msgspec.json.decode(record.value or b"{}").get("released")
            for record in records_in(self.settings, Topic.ORDERED_EVENTS)
        )
        last = "\n".join(
            "\n".join(line for line in process.lines[-3:]) for process in self.processes.values()
        )
        return f"{counts}\n{rules}\n{releases}\n{last}"

    def mailbox(self) -> list[dict[str, Any]]:
        """Every mail that the provider accepted, in the order it accepted them."""
        mails: list[dict[str, Any]] = []
        after = 0
        while True:
            page = self.client.get(
                f"{self.standin}/_standin/mailbox", params={"after": after, "limit": 500}
            ).json()
            mails += page["mails"]
            if "next_after" not in page:
                return mails
            after = page["next_after"]


def directory(standin: str) -> str:
    """onereply.toml for the stand-in: ten inboxes whose mail is answered."""
    inboxes = "\n".join(
        f'[inboxes."{name}"]\nworkspace = "main"\naccount = "standin"\nroute = "send"'
        for name in INBOXES
    )
    return f"""
[workspaces.main]
[sources.agentmail]
provider = "agentmail"
workspace = "main"
secrets = ["TEST_SECRET"]
[accounts.standin]
provider = "agentmail"
base_url = "{standin}"
api_key = "TEST_API_KEY"
{inboxes}
"""


@contextmanager
def pipeline(servers: str, prefix: str, folder: Path, **settings: Any) -> Iterator[Pipeline]:
    """The whole set, live, for as long as the block lasts; all its processes end with it."""
    with ExitStack() as stack:
        provider = stack.enter_context(running(inboxes=INBOXES, max_messages=200_000))
        config = folder / "onereply.toml"
        config.write_text(directory(provider.url), encoding="utf-8")
        ours = corner(
            servers,
            prefix,
            data_dir=str(folder / "data"),
            config_file=str(config),
            **(QUICK | settings),
        )
        create_topics(ours)
        environ = clean_environ(
            **environ_of(ours), TEST_SECRET=SECRET, TEST_API_KEY="am_test_key_for_the_stand_in"
        )
        commands = {"door": ("ingest",)} | {name: ("processors", name) for name in STAGES}
        client = stack.enter_context(httpx.Client(timeout=15))
        whole = Pipeline(settings=ours, standin=provider.url, client=client)
        for name, command in commands.items():
            whole.processes[name] = stack.enter_context(Process(*command, environ=environ))
        for name in STAGES:
            whole.processes[name].start()
        whole.open_door()
        for name in STAGES:
            whole.processes[name].wait_for("stage live")
        yield whole


def conversation(name: str, *, threads: int, length: int, is_cut: bool = False) -> list[Mail]:
    """Mails of that many threads, each answering the one before it, all from other people.

    The timestamps lie in the recent past, a second apart, in the order in which they were written.
    """
    began = int(time.time()) - 3600
    mails = []
    for number in range(threads * length):
        step, thread = divmod(number, threads)
        inbox = INBOXES[thread % len(INBOXES)]
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began + number))
        ids = [f"<{name}-{thread}-{each}@customer.example>" for each in range(length)]
        mails.append(
            Mail(
                event_id=f"evt_{name}_{number}",
                is_cut=is_cut,
                whole=message_received(
                    event_id=f"evt_{name}_{number}",
                    inbox_id=inbox,
                    message_id=ids[step],
                    thread_id=f"thd_{name}_{thread}",
                    timestamp=at,
                    sender=f"Person <person-{thread}@{name}-{thread}.example>",
                    text=f"Question {step}",
                    **({"in_reply_to": ids[step - 1], "references": ids[:step]} if step else {}),
                ),
            )
        )
    return mails

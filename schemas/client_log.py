"""What librdkafka says, as few lines of ours: a broker that is away is told once and then seldom.

Owns: which of the client's lines are passed on, and how often.
May not: know what a client is for. One log serves every client of a process.

The client tries a broker that is away twenty times a second, says so each time, and says only to
those who debug it that the broker is back.
"""

import logging
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Final, NamedTuple

# A reminder for who opens the log in the middle of an outage, and no more than that.
TOLD_AGAIN_S: Final = 30.0
# A client that was closed meanwhile never says that its broker is back.
FORGOTTEN_S: Final = 60.0
# Of one outage (an address of each kind, refused and timed out), and of other sentences.
MOST_REASONS: Final = 8
MOST_SENTENCES: Final = 100
# With these the client tells of connections that came up: some lines a connection, none a record.
DEBUG: Final = "broker"

LOG: Final = logging.getLogger(__name__)

_THREAD: Final = re.compile(r"\[thrd:(?:\w+://)?([^\]]*?)(?:/\w+)?\]: ")
_ADDRESS: Final = re.compile(r"(?:^|[ /])([^\s/]+:\d+)(?:/\w+)?: ")
_DURATION: Final = re.compile(r" \(after \d+ms in state.*")


class Connection(NamedTuple):
    """One client's way to one broker: by its address, or as the coordinator of something."""

    client: str
    broker: str


@dataclass(slots=True, kw_only=True)
class Outage:
    """A broker that is away: since when, who knows, and what was told of it."""

    since: str
    told_s: float
    failures: int = 0
    seen_s: dict[Connection, float] = field(default_factory=dict)
    reasons: set[str] = field(default_factory=set)


class ClientLog:
    """A logger for clients, as far as they use one. Any thread may call it."""

    def __init__(
        self, log: logging.Logger = LOG, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._log, self._clock = log, clock
        self._lock = threading.Lock()
        self._outages: dict[str, Outage] = {}
        self._told_s: dict[str, float] = {}

    def log(self, level: int, sentence: str, *values: object) -> None:
        """Take a line of a client; it calls this from inside a poll."""
        kind, client, said = _parts(sentence, values)
        connection = Connection(client, _found(_THREAD, said))
        with self._lock:
            if kind == "STATE" and said.endswith("-> UP"):
                self._is_up(connection)
            elif kind == "FAIL" and level >= logging.WARNING:
                self._has_failed(connection, said)
            elif level >= logging.WARNING and not said.endswith("brokers are down"):
                self._tell(level, _THREAD.sub("", said))

    def _has_failed(self, connection: Connection, said: str) -> None:
        now_s, said = self._clock(), _DURATION.sub("", _THREAD.sub("", said))
        address = _found(_ADDRESS, said) or connection.broker
        reason = _ADDRESS.split(said, maxsplit=1)[-1]
        outage = self._outages.get(address)
        if outage is None or now_s - max(outage.seen_s.values(), default=now_s) > FORGOTTEN_S:
            since = datetime.now(UTC).isoformat(timespec="seconds")
            outage = self._outages[address] = Outage(since=since, told_s=now_s)
        outage.failures += 1
        outage.seen_s[connection] = now_s
        is_new = reason not in outage.reasons and len(outage.reasons) < MOST_REASONS
        if is_new or now_s - outage.told_s >= TOLD_AGAIN_S:
            outage.told_s = now_s
            outage.reasons.add(reason)
            fields = {"broker": address, "since": outage.since, "tries": outage.failures}
            self._log.warning("broker away", extra=fields | {"reason": reason})

    def _is_up(self, connection: Connection) -> None:
        now_s = self._clock()
        for address, outage in list(self._outages.items()):
            outage.seen_s = {
                each: seen_s
                for each, seen_s in outage.seen_s.items()
                if not _is_answered(each, by=connection, address=address)
                and now_s - seen_s <= FORGOTTEN_S
            }
            if not outage.seen_s:
                del self._outages[address]
                self._log.warning("broker back", extra={"broker": address, "since": outage.since})

    def _tell(self, level: int, said: str) -> None:
        now_s = self._clock()
        if now_s - self._told_s.get(said, -TOLD_AGAIN_S) < TOLD_AGAIN_S:
            return
        if len(self._told_s) >= MOST_SENTENCES:
            self._told_s.clear()
        self._told_s[said] = now_s
        self._log.log(level, "kafka client", extra={"said": said})


@cache
def client_log() -> ClientLog:
    """The log of this process's clients."""
    return ClientLog()


def _is_answered(waiting: Connection, *, by: Connection, address: str) -> bool:
    """Whether this connection proves that the one that waited has its broker again."""
    return by.client == waiting.client and by.broker in {waiting.broker, address}


def _parts(sentence: str, values: tuple[object, ...]) -> tuple[str, str, str]:
    """The line's kind, its client and what it says; a line of another make has words only."""
    match values:
        case (str(kind), str(client), str(said)):
            return kind, client, said
    return "", "", sentence % values if values else sentence


def _found(pattern: re.Pattern[str], said: str) -> str:
    found = pattern.search(said)
    return found.group(1) if found else ""

"""When a mail came to each topic on its way, by the broker's clock.

Owns: which record on which topic speaks of which mail.
May not: wait: everything is there when it looks.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from schemas.settings import Settings
from schemas.topics import Topic
from tests.bench.events import read_all

# Station -> message id -> milliseconds since 1970.
Times = dict[str, dict[str, float]]
# A record as far as it matters here: its value decoded, and when it was appended.
Told = tuple[dict[str, Any], int]

SENT: Final = "sent"
ACCEPTED: Final = "accepted"
# A hop, and the stations that it lies between.
HOPS: Final[Mapping[str, tuple[str, str]]] = {
    "hop_door": (SENT, "inbound"),
    "hop_dedupe": ("inbound", "thread"),
    "hop_reorder": ("thread", "ordered"),
    "hop_decide": ("ordered", "asked"),
    "hop_request": ("asked", "requested"),
    "hop_write": ("requested", "written"),
    "hop_post": ("written", ACCEPTED),
    "hop_receipt": (ACCEPTED, "receipt"),
}


def station_times(settings: Settings) -> Times:
    """When each mail's first record came to each topic."""
    return {station: dict(_first(find(settings))) for station, find in _STATIONS.items()}


def hop_times(times: Times, mails: Sequence[str], hop: str) -> list[float]:
    """How long the hop took for each of these mails that made it."""
    begin, end = (times[station] for station in HOPS[hop])
    return [end[mail] - begin[mail] for mail in mails if mail in begin and mail in end]


def _first(found: Iterable[tuple[str, int]]) -> Iterator[tuple[str, float]]:
    """The earliest of each mail: of two pairs with one key, a dict keeps the last."""
    return ((mail, float(at_ms)) for mail, at_ms in sorted(found, key=lambda pair: -pair[1]))


def _records(settings: Settings, topic: Topic) -> Iterator[Told]:
    for _, value, at_ms in read_all(settings, settings.shape().name(topic)):
        yield msgspec.json.decode(value or b"{}"), at_ms


def _inbound(settings: Settings) -> Iterator[tuple[str, int]]:
    for said, at_ms in _records(settings, Topic.INBOUND_EVENTS):
        yield said["message"]["message_id"].strip("<>"), at_ms


def _thread(settings: Settings) -> Iterator[tuple[str, int]]:
    for said, at_ms in _records(settings, Topic.THREAD_EVENTS):
        if said["kind"] == "message.received":
            yield said["message_id"], at_ms


def _ordered(settings: Settings) -> Iterator[tuple[str, int]]:
    for said, at_ms in _records(settings, Topic.ORDERED_EVENTS):
        if said["event"]["kind"] == "message.received":
            yield said["event"]["message_id"], at_ms


def _asked(settings: Settings) -> Iterator[tuple[str, int]]:
    for said, at_ms in _records(settings, Topic.REPLY_COMMANDS):
        if said["command"] == "AskReply":
            yield said["message_id"], at_ms


def _written(settings: Settings) -> Iterator[tuple[str, int]]:
    commands = list(_records(settings, Topic.REPLY_COMMANDS))
    mails = {said["reply_key"]: said["message_id"] for said, _ in commands if "message_id" in said}
    for said, at_ms in commands:
        if said["command"] == "SendReply":
            yield mails[said["reply_key"]], at_ms


def _named(topic: Topic) -> Callable[[Settings], Iterator[tuple[str, int]]]:
    def found(settings: Settings) -> Iterator[tuple[str, int]]:
        for said, at_ms in _records(settings, topic):
            yield said["message_id"], at_ms

    return found


_STATIONS: Final[Mapping[str, Callable[[Settings], Iterator[tuple[str, int]]]]] = {
    "inbound": _inbound,
    "thread": _thread,
    "ordered": _ordered,
    "asked": _asked,
    "requested": _named(Topic.WRITER_REQUESTS),
    "written": _written,
    "receipt": _named(Topic.REPLY_RECEIPTS),
}

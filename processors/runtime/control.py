"""The kill switches, as the sender sees them: the `control` topic, read outside any group.

A view is valid for `control_lease`, by the boot clock, counted from before it asked for the
topic's end and once it has read up to it. So whoever writes a switch and waits twice that long
knows that no call starts against it any more, whatever this process's reader is doing.

Owns: the reader's thread, and whether what it has read may still be trusted.
May not: write a switch. A view that is not valid stops everything: not knowing is not "on".
"""

import logging
import threading
from typing import Final

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from processors.runtime.clock import boot_s
from schemas.cluster import consumer_config
from schemas.commands import SWITCH
from schemas.errors import DecodeError
from schemas.settings import Settings
from schemas.topics import Topic

LOG = logging.getLogger(__name__)

# The view is renewed this many times within its life, so that one slow answer does not end it.
RENEWALS: Final = 4
# A broker that is away is asked again once a second.
AWAY_PAUSE_S: Final = 1.0


class ControlView:
    """What the switches say. Its thread starts with the first question."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lease_s = settings.control_lease_ms / 1000
        self._off: frozenset[str] = frozenset()
        self._valid_until_s = 0.0
        self._renewed = threading.Condition()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def off_switch(self, names: tuple[str, ...]) -> str | None:
        """The first of these switches that is off, or None where a call may start now.

        Where the view is not valid the first name is returned: nothing is known to be on.
        """
        if boot_s() >= self._valid_until_s:
            return names[0]
        off = self._off
        return next((name for name in names if name in off), None)

    def wait_valid(self, timeout_s: float) -> None:
        """Return once the view is valid, or after the timeout. Starts the reader if need be."""
        self._start()
        with self._renewed:
            self._renewed.wait_for(lambda: boot_s() < self._valid_until_s, timeout_s)

    @property
    def is_valid(self) -> bool:
        """Whether the view may be trusted now."""
        return boot_s() < self._valid_until_s

    def close(self) -> None:
        """Stop the reader; from then on nothing is known to be on."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(timeout=self._lease_s + AWAY_PAUSE_S)
        self._valid_until_s = 0.0

    def _start(self) -> None:
        with self._renewed:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._run, name="control", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._closing.is_set():
            reader = Reader(self._settings)
            try:
                while not self._closing.is_set():
                    asked_s = boot_s()
                    if reader.reach_end(until_s=asked_s + self._lease_s):
                        self._renew(reader.off(), asked_s)
                    # Counted from the question: after a slow answer the next is asked at once.
                    self._closing.wait(asked_s + self._lease_s / RENEWALS - boot_s())
            except KafkaException as error:
                # What it knew may be another topic's by now: begin again, with an empty head.
                LOG.warning("control not read", extra={"reason": error.args[0].name()})
                self._closing.wait(AWAY_PAUSE_S)
            finally:
                reader.close()

    def _renew(self, off: frozenset[str], asked_s: float) -> None:
        self._off = off
        with self._renewed:
            self._valid_until_s = asked_s + self._lease_s
            self._renewed.notify_all()


class Reader:
    """Follows the topic from its start, in the thread that made it."""

    def __init__(self, settings: Settings) -> None:
        self._where = TopicPartition(settings.shape().name(Topic.CONTROL), 0, OFFSET_BEGINNING)
        self._switches: dict[str, bool] = {}
        self._read_to = -1
        self._unknown_for = ""
        group = f"{settings.topic_prefix}control-{settings.worker_name}"
        options = consumer_config(settings, group=group) | {
            # Switches are written outside transactions, so their end is the log's own end.
            "isolation.level": "read_uncommitted",
            "enable.partition.eof": True,
        }
        self._consumer = Consumer(options)
        self._consumer.assign([self._where])

    def off(self) -> frozenset[str]:
        """The switches that are off."""
        return frozenset(name for name, is_on in self._switches.items() if not is_on)

    def reach_end(self, *, until_s: float) -> bool:
        """Whether everything was read, up to the topic's end as it is now, before that moment.

        Raises KafkaException where the topic cannot be followed any further.
        """
        end = self._end(until_s - boot_s())
        if end is None:
            return False
        while self._read_to < end:
            message = self._consumer.poll(max(0.0, until_s - boot_s()))
            if message is None:
                return False
            self._take(message)
        return True

    def close(self) -> None:
        """Let go of the connection."""
        self._consumer.close()

    def _end(self, timeout_s: float) -> int | None:
        try:
            _, end = self._consumer.get_watermark_offsets(
                self._where, timeout=timeout_s, cached=False
            )
        except KafkaException as error:
            self._tell_unknown(error.args[0].name())
            return None
        self._unknown_for = ""
        return end

    def _tell_unknown(self, reason: str) -> None:
        """Say so once: it is asked several times a second, and is away for as long as Kafka is."""
        if reason != self._unknown_for:
            self._unknown_for = reason
            LOG.info("control's end unknown", extra={"reason": reason})

    def _take(self, message: Message) -> None:
        error = message.error()
        if error is None:
            _apply(self._switches, message.key(), message.value())
            self._read_to = (message.offset() or 0) + 1
        elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001  # the library's public constant has this name
            self._read_to = message.offset() or 0
        else:
            raise KafkaException(error)


def _apply(switches: dict[str, bool], key: bytes | None, value: bytes | None) -> None:
    name = (key or b"").decode("utf-8", "replace")
    if value is None:
        # A deleted switch is one that nobody ever touched: on.
        switches.pop(name, None)
        return
    try:
        switches[name] = SWITCH.decode(value).is_on
    except DecodeError:
        # Somebody meant something by it. Until it is written again it counts as off.
        LOG.warning("switch unreadable", extra={"switch": name})
        switches[name] = False

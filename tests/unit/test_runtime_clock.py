"""Broker time, on a boot clock that the test turns."""

import time
from pathlib import Path

import pytest

from processors.runtime.clock import BELIEVED_AFTER_S, LEAP_MS, BrokerClock, boot_s, wall_ms
from processors.runtime.steps import HaltAt, Step
from schemas.errors import SettingsError

BROKER_MS = 1_767_607_200_000
SECOND_MS, HOUR_MS, DAY_MS = 1_000, 3_600_000, 86_400_000


class Boot:
    """A boot clock that moves only when told."""

    now_s = 500.0

    def __call__(self) -> float:
        """Seconds since boot."""
        return self.now_s


@pytest.fixture
def boot() -> Boot:
    """The boot clock, at the moment of the first ack."""
    return Boot()


@pytest.fixture
def clock(boot: Boot) -> BrokerClock:
    """Broker time, just heard."""
    clock = BrokerClock(boot)
    clock.observe_ack(BROKER_MS)
    return clock


def test_boot_clock_is_the_kernels_own() -> None:
    """It counts what the machine sleeps through, and no one can set it."""
    before_s = boot_s()
    uptime_s = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])

    # The file says hundredths, rounded down.
    assert before_s - 0.01 <= uptime_s <= boot_s()


def test_boot_clock_counts_seconds() -> None:
    """A clock that counts in other units makes every timer wrong by the same factor."""
    boot_before_s, before_s = boot_s(), time.monotonic()
    while time.monotonic() - before_s < 0.05:
        pass
    passed_s = time.monotonic() - before_s

    assert boot_s() - boot_before_s == pytest.approx(passed_s, abs=0.02)


def test_time_is_not_known_before_the_first_ack(boot: Boot) -> None:
    """A record may be days old, and the host's own clock days off: both would fire timers."""
    clock = BrokerClock(boot)
    clock.observe_record(BROKER_MS)

    assert (clock.is_known, clock.now_ms()) == (False, 0)


@pytest.mark.parametrize(
    "skew_ms",
    [
        pytest.param(2 * DAY_MS, id="two-days-ahead"),
        pytest.param(-HOUR_MS, id="an-hour-back"),
        pytest.param(60 * SECOND_MS, id="a-minute-ahead"),
    ],
)
def test_skewed_host_tells_the_brokers_time(
    boot: Boot, monkeypatch: pytest.MonkeyPatch, *, skew_ms: int
) -> None:
    """What the host takes for the time plays no part, at the start and after."""
    real_ms = wall_ms()
    monkeypatch.setenv("ONEREPLY_WALL_SHIFT_MS", str(skew_ms))
    assert wall_ms() - real_ms == pytest.approx(skew_ms, abs=5 * SECOND_MS)
    clock = BrokerClock(boot)
    clock.observe_ack(BROKER_MS)
    boot.now_s += 2

    assert clock.now_ms() == BROKER_MS + 2 * SECOND_MS


def test_time_goes_on_with_the_boot_clock(clock: BrokerClock, boot: Boot) -> None:
    """A quiet partition's timers fire though the broker says nothing."""
    boot.now_s += 90

    assert clock.now_ms() == BROKER_MS + 90 * SECOND_MS


def test_later_record_moves_time_on_and_an_old_one_does_not_move_it_back(
    clock: BrokerClock, boot: Boot
) -> None:
    """Acks come late by what a commit takes; records that were waiting are older still."""
    clock.observe_record(BROKER_MS + 30)
    clock.observe_record(BROKER_MS - DAY_MS)
    boot.now_s += 1
    clock.observe_ack(BROKER_MS + 400)

    assert clock.now_ms() == BROKER_MS + SECOND_MS + 30


def test_broker_clock_that_goes_an_hour_back_does_not_turn_time_back(
    clock: BrokerClock, boot: Boot
) -> None:
    """Time that stands still until the broker has caught up would hold timers up for an hour."""
    for _ in range(3):
        boot.now_s += 1
        clock.observe_ack(BROKER_MS - HOUR_MS)

    assert clock.now_ms() == BROKER_MS + 3 * SECOND_MS


def test_broker_clock_that_leaps_ahead_and_back_is_not_followed(
    clock: BrokerClock, boot: Boot
) -> None:
    """It would give up every reply that waits, and call every key dead."""
    boot.now_s += 1
    clock.observe_ack(BROKER_MS + 2 * DAY_MS)
    clock.observe_record(BROKER_MS + 2 * DAY_MS)
    boot.now_s += BELIEVED_AFTER_S
    clock.observe_ack(int(BROKER_MS + (1 + BELIEVED_AFTER_S) * SECOND_MS))
    clock.observe_ack(BROKER_MS + 2 * DAY_MS)

    assert clock.now_ms() == BROKER_MS + (1 + BELIEVED_AFTER_S) * SECOND_MS
    assert clock.leaps == 3


def test_leap_that_every_ack_confirms_for_an_hour_is_believed(
    clock: BrokerClock, boot: Boot
) -> None:
    """A machine that was frozen for two days would else take dead keys for live ones."""
    clock.observe_ack(BROKER_MS + 2 * DAY_MS)
    boot.now_s += BELIEVED_AFTER_S - 1
    clock.observe_ack(BROKER_MS + 2 * DAY_MS + HOUR_MS - SECOND_MS)
    before_ms = clock.now_ms()
    boot.now_s += 1
    clock.observe_ack(BROKER_MS + 2 * DAY_MS + HOUR_MS)

    assert before_ms == BROKER_MS + HOUR_MS - SECOND_MS
    assert clock.now_ms() == BROKER_MS + 2 * DAY_MS + HOUR_MS


def test_records_alone_do_not_confirm_a_leap(clock: BrokerClock, boot: Boot) -> None:
    """They may all have been appended while the broker's clock was wrong."""
    clock.observe_record(BROKER_MS + 2 * DAY_MS)
    boot.now_s += BELIEVED_AFTER_S
    clock.observe_record(BROKER_MS + 2 * DAY_MS)

    assert clock.now_ms() == BROKER_MS + HOUR_MS


def test_brokers_whose_clocks_differ_a_little_are_all_believed(clock: BrokerClock) -> None:
    """Partitions lie on several machines."""
    clock.observe_ack(BROKER_MS + LEAP_MS)

    assert (clock.now_ms(), clock.leaps) == (BROKER_MS + LEAP_MS, 0)


def test_leaps_are_logged_ever_more_rarely(
    clock: BrokerClock, caplog: pytest.LogCaptureFixture
) -> None:
    """A broker whose clock is wrong says so with every batch."""
    for _ in range(1_000):
        clock.observe_record(BROKER_MS + 2 * DAY_MS)

    assert len(caplog.records) == 10


def test_shift_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault test that shifts nothing would pass for nothing."""
    monkeypatch.setenv("ONEREPLY_WALL_SHIFT_MS", "two days")

    with pytest.raises(SettingsError, match="ONEREPLY_WALL_SHIFT_MS"):
        wall_ms()


def test_transaction_that_learns_the_time_is_no_step_to_halt_at() -> None:
    """A fault test that halts at the first commit means the first of a batch."""
    halt = HaltAt(Step.COMMITTED, 2)
    touch = [Step.PRODUCED, Step.OFFSETS_SENT, Step.COMMITTED, Step.STORED, Step.STARTED]

    # It would stop this very process at the second.
    for step in [*touch, Step.POLLED, *touch, Step.POLLED, Step.DECIDED, *touch]:
        halt.reached(step)

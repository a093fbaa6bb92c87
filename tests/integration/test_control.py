"""The kill switches on real Kafka: seen in time, and never trusted for longer than a lease."""

import logging
from collections.abc import Iterator
from typing import Final

import pytest
from confluent_kafka.admin import NewTopic

from processors.runtime.clock import boot_s
from processors.runtime.control import ControlView, Reader
from schemas.cluster import admin
from schemas.codec import to_json
from schemas.commands import Switch
from schemas.settings import Settings, load_settings
from schemas.topics import Topic
from tests.logs import corner, put
from tests.processes import DEADLINE_S

ALL: Final = ("sends", "sends/a@inbox.example", "sends:acme")
OTHER: Final = ("sends", "sends/b@inbox.example", "sends:acme")
LEASE_MS: Final = 2_000


@pytest.fixture
def settings(broker: str, prefix: str) -> Settings:
    """Settings with a lease that a loaded machine can keep."""
    return corner(broker, prefix, control_lease_ms=LEASE_MS)


@pytest.fixture
def switches(settings: Settings) -> Settings:
    """The same with the control topic, empty."""
    name = settings.shape().name(Topic.CONTROL)
    client = admin(settings)
    made = client.create_topics([NewTopic(name, num_partitions=1, replication_factor=1)])
    made[name].result()
    return settings


@pytest.fixture
def view(switches: Settings) -> Iterator[ControlView]:
    """A view of it that has been read once."""
    seen = ControlView(switches)
    seen.wait_valid(DEADLINE_S)
    yield seen
    seen.close()


def write(settings: Settings, name: str, value: bytes | None) -> None:
    """Return once the broker has the record."""
    put(settings, Topic.CONTROL, [(name.encode(), value)])


def a_switch(name: str, *, is_on: bool) -> bytes:
    """The switch, as an operator sets it."""
    return to_json(Switch(name=name, is_on=is_on, by="ann", at_ms=0))


def seen_within(view: ControlView, names: tuple[str, ...], expected: str | None) -> bool:
    """Whether a valid view says so before the deadline."""
    deadline_s = boot_s() + DEADLINE_S
    while boot_s() < deadline_s:
        view.wait_valid(DEADLINE_S)
        if view.off_switch(names) == expected:
            return True
    return False


def test_untouched_switches_are_on(view: ControlView) -> None:
    """An installation that never stopped anything sends."""
    assert seen_within(view, ALL, None)


@pytest.mark.parametrize("name", ALL)
def test_stop_is_seen_and_a_start_again_too(
    switches: Settings, view: ControlView, name: str
) -> None:
    """For all, for an inbox, for a workspace."""
    write(switches, name, a_switch(name, is_on=False))
    is_stopped = seen_within(view, ALL, name)
    write(switches, name, a_switch(name, is_on=True))

    assert is_stopped
    assert seen_within(view, ALL, None)


def test_stop_of_an_inbox_is_no_stop_of_another(switches: Settings, view: ControlView) -> None:
    """Only what was named stops."""
    write(switches, ALL[1], a_switch(ALL[1], is_on=False))

    assert seen_within(view, ALL, ALL[1])
    assert seen_within(view, OTHER, None)


def test_stop_counts_for_every_call_after_twice_the_lease(
    switches: Settings, view: ControlView
) -> None:
    """That is when the operator's command returns, and from then on no call may start."""
    write(switches, "sends", a_switch("sends", is_on=False))

    until_s = boot_s() + 2 * LEASE_MS / 1000
    while boot_s() < until_s:
        view.wait_valid(0.05)

    assert view.off_switch(ALL) == "sends"


def test_deleted_switch_is_on_and_an_unreadable_one_off(
    switches: Settings, view: ControlView
) -> None:
    """Somebody meant something by a record that cannot be read; it is safer to wait for them."""
    write(switches, "sends", b"stop!")
    is_stopped = seen_within(view, ALL, "sends")
    write(switches, "sends", None)

    assert is_stopped
    assert seen_within(view, ALL, None)


def test_new_view_knows_what_was_written_before(switches: Settings) -> None:
    """A restart forgets no stop."""
    write(switches, "sends", a_switch("sends", is_on=False))
    view = ControlView(switches)

    view.wait_valid(DEADLINE_S)
    found = view.off_switch(ALL)
    view.close()

    assert found == "sends"


def test_view_that_is_not_read_stops_everything(settings: Settings) -> None:
    """Not knowing is not on: before the first read, without a topic, after the end."""
    view = ControlView(settings)
    before = view.off_switch(ALL)
    view.wait_valid(0.2)
    without = view.off_switch(ALL)
    view.close()

    assert (before, without, view.off_switch(ALL)) == ("sends", "sends", "sends")


def test_topic_out_of_reach_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """It is asked several times a second, and a broker may be away for a night."""
    reader = Reader(load_settings(bootstrap_servers="127.0.0.1:9"))
    with caplog.at_level(logging.INFO, logger="processors.runtime.control"):
        reached = [reader.reach_end(until_s=boot_s() + 0.1) for _ in range(3)]
    reader.close()

    told = [record.getMessage() for record in caplog.records if record.name.startswith("proc")]
    assert (reached, told) == ([False] * 3, ["control's end unknown"])

from collections import Counter, defaultdict
from datetime import UTC, datetime

from ops.demo.entries import Clock, Entry, Owed, TurnedAway
from ops.demo.player import MOST_COPIES, schedule
from ops.demo.scenario import FATAL, first_act
from ops.demo.second_act import USED, Reply, after_the_facts, facts
from ops.standin.payloads import BUILDERS

CLOCK = Clock(datetime(2026, 11, 30, 10, 0, tzinfo=UTC))
REPLIES = {
    name: Reply(message_id=f"<r-{name}@shop.example>", thread_id=f"thd_{name}", recipients=())
    for name in USED
}
ENTRIES = (
    *first_act(CLOCK),
    *facts(REPLIES, CLOCK),
    *after_the_facts(REPLIES, CLOCK),
)


def first_times(played: list[Entry]) -> list[str]:
    """The names in the order in which each came first."""
    return list(dict.fromkeys(entry.name for entry in played))


def test_every_event_type_of_the_provider_is_played() -> None:
    """A type that the demo leaves out could be answered by mistake, and nobody would see it."""
    assert set(BUILDERS) - {entry.payload["event_type"] for entry in ENTRIES} == set()


def test_entries_have_names_of_their_own() -> None:
    """What differs is told by name."""
    assert [name for name, count in Counter(e.name for e in ENTRIES).items() if count > 1] == []


def test_each_message_has_one_expectation() -> None:
    """Two would let the demo choose."""
    told = Counter(entry.identity for entry in ENTRIES if isinstance(entry.expected, Owed))

    assert [identity for identity, count in told.items() if count > 1] == []


def test_places_in_a_thread_are_counted_from_one() -> None:
    """A gap would be an order that no mailbox can have."""
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for entry in ENTRIES:
        if isinstance(entry.expected, Owed):
            places[entry.thread].append(entry.expected.place)

    wrong = {
        each: found
        for each, found in places.items()
        if sorted(found) != [*range(1, len(found) + 1)]
    }
    assert wrong == {}


def test_scenario_has_reversed_threads() -> None:
    """Without them the demo would pass with REORDER taken out."""
    owed = [entry for entry in ENTRIES if isinstance(entry.expected, Owed)]
    arrival: dict[tuple[str, str], list[int]] = defaultdict(list)
    for entry in owed:
        assert isinstance(entry.expected, Owed)
        arrival[entry.thread].append(entry.expected.place)

    assert sum(places != sorted(places) for places in arrival.values()) >= 3


def test_body_that_is_cut_is_no_json_and_the_rest_is() -> None:
    """A truncated body whose signature is right is the trap; one that is whole is none."""
    cut = [entry for entry in ENTRIES if entry.expected == TurnedAway(400, "not-json")]

    assert [entry.body.endswith(b"}") for entry in cut] == [False]


def test_each_webhook_is_played_one_to_four_times() -> None:
    """A webhook that always comes once shows nothing about dedupe."""
    counts = Counter(entry.name for entry in schedule(ENTRIES, seed=1))

    assert set(counts) == {entry.name for entry in ENTRIES}
    assert set(counts.values()) == set(range(1, MOST_COPIES + 1))


def test_first_times_stay_in_the_scenarios_order() -> None:
    """The reversed pairs are reversed by the scenario, not by chance."""
    assert first_times(schedule(ENTRIES, seed=5)) == [entry.name for entry in ENTRIES]


def test_same_seed_plays_the_same_demo() -> None:
    """A demo that fails must fail again."""
    assert schedule(ENTRIES, seed=3) == schedule(ENTRIES, seed=3)
    assert schedule(ENTRIES, seed=3) != schedule(ENTRIES, seed=4)


def test_sender_dies_over_a_mail_that_is_owed_a_reply() -> None:
    """Killed over anything else, the demo would show nothing."""
    assert [entry.expected for entry in ENTRIES if entry.name == FATAL] == [Owed()]

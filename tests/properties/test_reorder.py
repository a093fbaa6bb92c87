from collections.abc import Iterable

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.events import Kind, OrderedEvent, Position, ThreadEvent
from schemas.keys import EventKey, ThreadKey
from tests.reordering import (
    RULES,
    Reordering,
    a_fact,
    a_mail,
    an_answer,
    an_opening,
)

# A busy machine is no failure: what is bounded here is counted in events, not in seconds.
at_leisure = settings(deadline=None)

LONGEST_WAIT_MS = RULES.fetch_wait_ms
Arrival = tuple[int, ThreadEvent]


@st.composite
def mails(draw: st.DrawFn, *, most: int = 7) -> list[ThreadEvent]:
    """Mails of two threads: with ties, forks, clocks that run apart, and parents never seen."""
    count = draw(st.integers(2, most))
    threads = draw(st.lists(st.sampled_from("st"), min_size=count, max_size=count))
    times = draw(st.lists(st.integers(-3, 3), min_size=count, max_size=count))
    parents = draw(st.lists(st.integers(-2, count - 1), min_size=count, max_size=count))
    return [
        an_answer(
            f"m{index}",
            *([f"m{parent}" if parent >= 0 else "never"] if parent not in (-2, index) else []),
            at_ms=time,
            thread_key=ThreadKey(thread),
        )
        for index, (thread, time, parent) in enumerate(zip(threads, times, parents, strict=True))
    ]


@st.composite
def arrivals(draw: st.DrawFn, events: list[ThreadEvent], *, within_ms: int) -> list[Arrival]:
    """The events in any order, at any time within so many milliseconds."""
    delay = st.integers(0, within_ms)
    order = draw(st.permutations(events))
    return sorted(((draw(delay), event) for event in order), key=lambda arrival: arrival[0])


def another(event: ThreadEvent, number: int) -> ThreadEvent:
    """The same mail as another event."""
    return msgspec.structs.replace(event, event_key=EventKey(f"{event.event_key}/{number}"))


def play(stage: Reordering, schedule: Iterable[Arrival]) -> None:
    """Give the stage each event at its time; timers ring in between."""
    now_ms = 0
    for at_ms, event in schedule:
        stage.wait(at_ms - now_ms)
        stage.give(event)
        now_ms = at_ms


def by_thread(ordered: Iterable[OrderedEvent]) -> dict[str | None, list[Position]]:
    """The places that came out of each thread, in order."""
    places: dict[str | None, list[Position]] = {}
    for each in ordered:
        places.setdefault(each.event.thread_key, []).append(each.position)
    return places


def ids(ordered: Iterable[OrderedEvent]) -> list[str]:
    """The mails that came out."""
    return [each.position.tie for each in ordered]


@at_leisure
@given(st.data())
def test_arrival_order_never_shows_within_grace(data: st.DataObject) -> None:
    """What the next stage reads must not depend on the network's mood."""
    events = data.draw(mails())
    copies = [another(event, 1) for event in data.draw(st.lists(st.sampled_from(events)))]
    schedule = data.draw(arrivals([*events, *copies], within_ms=RULES.grace_ms - 1))
    stage = Reordering()

    play(stage, schedule)
    stage.wait(LONGEST_WAIT_MS)

    places = by_thread(stage.ordered)
    assert places == {thread: sorted(each) for thread, each in places.items()}
    assert sorted(ids(stage.ordered)) == sorted({str(each.message_id) for each in events})
    assert [each.late_by_ms for each in stage.ordered] == [None] * len(events)


@at_leisure
@given(st.data())
def test_chain_comes_out_whole_and_in_order(data: st.DataObject) -> None:
    """However often the mails of a conversation are retried, each waits for the one it answers."""
    count = data.draw(st.integers(1, 6))
    chain = [an_answer(f"m{n}", f"m{n - 1}", at_ms=n) for n in range(1, count + 1)]
    schedule = data.draw(
        arrivals([an_opening("m0"), *chain], within_ms=RULES.predecessor_wait_ms - 1)
    )
    stage = Reordering()

    play(stage, schedule)

    assert ids(stage.ordered) == [f"m{n}" for n in range(count + 1)]
    assert late(stage) == set()


@at_leisure
@given(st.data())
def test_root_that_arrives_releases_its_whole_tree_in_order(data: st.DataObject) -> None:
    """The first mail of a thread, retried after a minute, must not scatter the forks below it."""
    parents = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=6))
    tree = [
        an_answer(f"m{n}", f"m{min(parent, n - 1)}", at_ms=n)
        for n, parent in enumerate(parents, start=1)
    ]
    schedule = data.draw(arrivals(tree, within_ms=RULES.predecessor_wait_ms - 1))
    stage = Reordering()

    play(stage, schedule)
    released = stage.give(an_opening("m0"))

    assert released == [f"m{n}" for n in range(len(tree) + 1)]
    assert late(stage) == set()


@st.composite
def streams(draw: st.DrawFn) -> list[Arrival]:
    """All that can come, at any time: copies, announcements, facts, openings, clamped times."""
    events = draw(mails())
    stream: list[ThreadEvent] = []
    for event in events:
        kinds = draw(st.lists(st.sampled_from(("copy", "announced", "fact")), max_size=3))
        for number, kind in enumerate(("mail", *kinds)):
            stream.append(_shaped(draw, event, kind=kind, number=number))
    return draw(arrivals(stream, within_ms=400_000))


def _shaped(draw: st.DrawFn, event: ThreadEvent, *, kind: str, number: int) -> ThreadEvent:
    if kind == "fact":
        told = draw(st.sampled_from(("never", str(event.message_id))))
        return a_fact(Kind.SENT, told, event_key=EventKey(f"{event.event_key}/{number}/fact"))
    if kind == "announced":
        words = {"kind": Kind.ANNOUNCED, "event_key": f"{event.event_key}/{number}/announced"}
        return msgspec.structs.replace(event, **words)
    changes = {
        "time_mark": draw(st.sampled_from((None, None, "future"))),
        "is_opening": draw(st.booleans()) and not event.parents,
        "thread_key": draw(st.sampled_from((event.thread_key, event.thread_key, None))),
    }
    mail = msgspec.structs.replace(event, **changes)
    return mail if kind == "mail" else another(mail, number)


LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "hold_per_thread": st.integers(1, 3),
        "hold_per_partition": st.integers(1, 4),
        "hold_bytes": st.integers(300, 3_000),
    },
)


@at_leisure
@given(streams(), LIMITS)
def test_nothing_disappears_and_nothing_comes_twice(
    stream: list[Arrival], limits: dict[str, int]
) -> None:
    """At any moment each mail that came is either held or was passed on, once."""
    stage = Reordering(**limits)
    came: set[str] = set()

    now_ms = 0
    for at_ms, event in stream:
        stage.wait(at_ms - now_ms)
        stage.give(event)
        now_ms = at_ms
        if event.kind in (Kind.RECEIVED, Kind.ANNOUNCED):
            came.add(str(event.message_id))

        whole = [each for each in stage.ordered if each.event.kind == Kind.RECEIVED]
        held = [each.message_id for each in stage.held]
        stubs = {each.position.tie for each in stage.ordered if each.event.kind == Kind.ANNOUNCED}
        assert len(ids(whole)) == len(set(ids(whole)))
        assert len(held) == len(set(held))
        assert not set(held) & set(ids(whole))
        assert set(held) | set(ids(whole)) | stubs == came


@at_leisure
@given(streams(), LIMITS)
def test_every_event_ends_as_one_thing(stream: list[Arrival], limits: dict[str, int]) -> None:
    """What was offered is released or reported, but for the announcements that mails replaced."""
    stage = Reordering(**limits)

    play(stage, stream)
    stage.wait(LONGEST_WAIT_MS)

    offered = {event.event_key: event for _, event in stream}
    told = [each.event.event_key for each in stage.ordered]
    told += [each.event_key for each in stage.duplicates]
    whole = {each.event.message_id for each in stage.ordered if each.event.kind == Kind.RECEIVED}
    assert len(told) == len(set(told))
    assert set(told) <= set(offered)
    for key in set(offered) - set(told):
        assert offered[key].kind == Kind.ANNOUNCED
        assert offered[key].message_id in whole


@at_leisure
@given(streams(), LIMITS)
def test_wait_ends_when_its_case_says(stream: list[Arrival], limits: dict[str, int]) -> None:
    """A quiet thread never stalls: clocks release, not traffic."""
    stage = Reordering(**limits)
    announced = any(event.kind == Kind.ANNOUNCED for _, event in stream)

    play(stage, stream)
    stage.wait(LONGEST_WAIT_MS)

    assert stage.held == []
    assert stage.desk.timers.waiting == set()
    for each in stage.ordered:
        own_ms = RULES.predecessor_wait_ms if each.event.parents else RULES.grace_ms
        assert 0 <= each.held_ms <= (RULES.fetch_wait_ms if announced else own_ms)


@at_leisure
@given(streams(), st.data())
def test_replay_tells_each_mail_once_more_as_it_was(
    stream: list[Arrival], data: st.DataObject
) -> None:
    """A replay re-tells every mail at its place, once, whatever was rewound before it."""
    stage = Reordering()
    play(stage, stream)
    stage.wait(LONGEST_WAIT_MS)
    told = {each.position.tie: each for each in stage.ordered if each.released != "fact"}
    retold = data.draw(st.lists(st.sampled_from([event for _, event in stream]), unique=True))
    stage.give(*retold, mark="replay-1")
    end, count = stage.desk.offset, len(stage.ordered)

    stage.desk.offset = -1
    stage.give(*(event for _, event in stream), *retold, mark="replay-2")

    again = stage.ordered[count:]
    assert stage.desk.offset == end
    assert sorted(ids(again)) == sorted(told)
    assert {each.position.tie: each for each in again} == told
    assert stage.held == []


@at_leisure
@given(streams(), st.data())
def test_replay_in_the_middle_loses_nothing(stream: list[Arrival], data: st.DataObject) -> None:
    """What is still held when it is read again goes once, in its own time."""
    cut = data.draw(st.integers(0, len(stream)))
    stage = Reordering()
    play(stage, stream[:cut])

    for _, event in stream[:cut]:
        stage.give(event, mark="replay-1")
    stage.wait(LONGEST_WAIT_MS)

    outputs = [(each.mark, each.value) for each in stage.outputs if each.topic == "ordered-events"]
    assert len(outputs) == len(set(outputs))
    assert stage.held == []


@at_leisure
@given(st.data())
def test_clamped_time_makes_no_other_mail_late(data: st.DataObject) -> None:
    """One event dated far in the future must not turn all that follows into stragglers."""
    events = data.draw(mails(most=5))
    schedule = data.draw(arrivals(events, within_ms=100_000))
    at_ms = data.draw(st.integers(0, 100_000))
    clamped = a_mail(
        "clamped",
        at_ms=data.draw(st.sampled_from((-5, 0, 5, at_ms))),
        time_mark="future",
        thread_key=ThreadKey(data.draw(st.sampled_from("st"))),
    )
    without, among = Reordering(), Reordering()

    play(without, schedule)
    without.wait(LONGEST_WAIT_MS)
    play(among, sorted([*schedule, (at_ms, clamped)], key=lambda arrival: arrival[0]))
    among.wait(LONGEST_WAIT_MS)

    assert late(among) - {"clamped"} <= late(without)
    assert "clamped" in ids(among.ordered)


def late(stage: Reordering) -> set[str]:
    """The mails that came out late."""
    return {each.position.tie for each in stage.ordered if each.late_by_ms is not None}

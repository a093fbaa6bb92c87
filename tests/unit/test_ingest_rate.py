from ingest.rate import Bucket, drawn
from tests.doors import DIRECTORY, LocalDoor, signed
from tests.payloads import an_event


def draws(bucket: Bucket, now_s: float, times: int) -> tuple[Bucket, list[int]]:
    """The bucket after so many draws at one instant, and each one's wait."""
    waits = []
    for _ in range(times):
        bucket, wait_s = drawn(bucket, now_s, rate=2)
        waits.append(wait_s)
    return bucket, waits


def test_draws_above_the_rate_wait_for_the_next_token() -> None:
    """The wait is what the sender is told."""
    bucket, waits = draws(Bucket(2, 100.0), 100.0, 3)
    later, more = draws(bucket, 100.5, 2)

    assert (waits, more) == ([0, 0, 1], [0, 1])
    assert later == Bucket(0, 100.5)


def test_quiet_time_saves_one_second_at_most() -> None:
    """An hour of silence must not allow an hour's worth at once."""
    assert draws(Bucket(0, 0.0), 3600.0, 3)[1] == [0, 0, 1]


def test_clock_that_stands_or_steps_back_gives_nothing() -> None:
    """No arithmetic may end below zero and lock the source out."""
    assert drawn(Bucket(0, 100.0), 50.0, rate=2) == (Bucket(0, 50.0), 1)


def test_forged_deliveries_take_no_token() -> None:
    """Or a stranger could use up a sender's rate."""
    door = LocalDoor(DIRECTORY + "rate_per_second = 1\n")

    forged = [door.ask(b"{}", headers=signed(an_event())).status for _ in range(3)]

    assert forged == [400, 400, 400]
    assert door.deliver(an_event()).status == 204


def test_each_source_has_a_rate_of_its_own() -> None:
    """One loud sender must not silence another."""
    second = DIRECTORY.partition("[sources.agentmail]")[2].replace("agentmail.", "")
    limited = DIRECTORY + "rate_per_second = 1\n[sources.second]" + second
    door = LocalDoor(limited)

    door.deliver(an_event())

    assert door.deliver(an_event()).status == 429
    reply = door.ask(an_event(), path="/webhooks/second", headers=signed(an_event()))
    assert reply.status == 204

"""Which request meets which fault."""

import pytest

from ops.standin.faults import MAX_QUEUED, Fault, Faults, Kind, Operation, TooManyFaults


def queue(*faults: Fault) -> Faults:
    """A queue of these."""
    made = Faults()
    made.add(faults)
    return made


def taken(faults: Faults, operation: Operation = Operation.REPLY) -> Kind | None:
    """The kind that the next request of this operation meets."""
    fault = faults.take(operation, message_id="<m1>", key="k")
    return None if fault is None else fault.kind


def test_faults_are_met_in_their_order() -> None:
    """A scenario lists what happens first, second, third."""
    faults = queue(Fault(kind=Kind.STATUS), Fault(kind=Kind.DROP))

    assert [taken(faults) for _ in range(3)] == [Kind.STATUS, Kind.DROP, None]


def test_fault_is_met_as_often_as_it_says() -> None:
    """The next N requests fail, the one after does not."""
    faults = queue(Fault(kind=Kind.STATUS, times=2))

    assert [taken(faults) for _ in range(3)] == [Kind.STATUS, Kind.STATUS, None]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Fault(kind=Kind.DROP, operation=Operation.REPLY), Kind.DROP),
        (Fault(kind=Kind.DROP, operation=Operation.LIST), None),
        (Fault(kind=Kind.DROP, message_id="<m1>"), Kind.DROP),
        (Fault(kind=Kind.DROP, message_id="<m2>"), None),
        (Fault(kind=Kind.DROP, idempotency_key="k"), Kind.DROP),
        (Fault(kind=Kind.DROP, idempotency_key="l"), None),
    ],
    ids=["operation", "other-operation", "message", "other-message", "key", "other-key"],
)
def test_fault_meets_only_whom_it_names(fault: Fault, expected: Kind | None) -> None:
    """A fault for one message must not hit its neighbour."""
    assert taken(queue(fault)) == expected


def test_fault_for_sends_passes_a_read_by() -> None:
    """Nothing is accepted when a list is asked for."""
    faults = queue(Fault(kind=Kind.ACCEPT_THEN_DROP))

    assert (taken(faults, Operation.LIST), taken(faults)) == (None, Kind.ACCEPT_THEN_DROP)


def test_queue_has_a_limit() -> None:
    """Too many faults are refused whole, not cut."""
    faults = queue()

    with pytest.raises(TooManyFaults):
        faults.add([Fault(kind=Kind.DROP)] * (MAX_QUEUED + 1))

    assert faults.waiting() == ()

"""The controls of what happens next: faults, holds, waits, the clock, a new start.

Owns: their requests and answers.
May not: wait longer than its limit.
"""

from typing import Annotated, Final

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response

from ops.standin.control_requests import control_body, number_in
from ops.standin.entries import ClockAdvanced, Reset
from ops.standin.faults import Fault
from ops.standin.refusals import ApiError
from ops.standin.standin import Standin
from ops.standin.wire import json_response

LONGEST_POLL_SECONDS: Final = 120.0


class FaultsBody(Struct, frozen=True, forbid_unknown_fields=True):
    """Faults to put into the queue, in this order."""

    faults: tuple[Fault, ...]


class ClockBody(Struct, frozen=True, forbid_unknown_fields=True):
    """How far to move the clock forward: at most a year at once."""

    advance_seconds: Annotated[float, Meta(ge=0, le=31_536_000)]


async def add_faults(standin: Standin, request: Request) -> Response:
    """The faults wait behind those that were there."""
    standin.state.faults.add((await control_body(request, FaultsBody)).faults)
    return await show_faults(standin, request)


async def show_faults(standin: Standin, _request: Request) -> Response:
    """The faults still to come."""
    return json_response({"faults": standin.state.faults.waiting()})


async def clear_faults(standin: Standin, request: Request) -> Response:
    """No fault is to come any more."""
    standin.state.faults.clear()
    return await show_faults(standin, request)


async def release_holds(standin: Standin, _request: Request) -> Response:
    """Every request that is held goes on."""
    return json_response({"released": standin.state.holds.release()})


async def wait(standin: Standin, request: Request) -> Response:
    """The counts, as soon as each named one is reached, or when the time is over."""
    wanted = {
        name: number_in(request, name, 0)
        for name in standin.counts()
        if name in request.query_params
    }
    unknown = set(request.query_params) - set(wanted) - {"timeout"}
    if unknown or not wanted:
        raise ApiError(400, f"wait for one or more of {', '.join(standin.counts())}")
    seconds = min(number_in(request, "timeout", 10), LONGEST_POLL_SECONDS)

    def is_reached() -> bool:
        """Whether every count is there."""
        counts = standin.counts()
        return all(counts[name] >= number for name, number in wanted.items())

    reached = await standin.state.signals.reached(is_reached, seconds=seconds)
    return json_response({"reached": reached, **standin.counts()})


async def reset(standin: Standin, _request: Request) -> Response:
    """As at the start: no mail, key, webhook, fault or attempt, and the machine's time."""
    await standin.deliverer.stop()
    standin.state.record(Reset())
    return json_response(standin.counts())


async def advance_clock(standin: Standin, request: Request) -> Response:
    """The provider's time after the move."""
    body = await control_body(request, ClockBody)
    standin.state.record(ClockAdvanced(body.advance_seconds))
    return await show_clock(standin, request)


async def show_clock(standin: Standin, _request: Request) -> Response:
    """The provider's time."""
    return json_response({"now": standin.state.clock.now()})

"""Which ports a run needs, whether they differ and are free, and the sentences when they do not.

Owns: the sentences, in the words that both `make run` and the command understand: variables.
May not: hold a port; between the look and the bind another may take it.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from ingest.server import bound_socket
from schemas.errors import SettingsError, Transient


class Port(NamedTuple):
    """A port that is to be listened on, and the variable and the option that name another."""

    host: str
    number: int
    variable: str
    option: str


def require_ports(ports: Sequence[Port]) -> None:
    """Return when all are free, and no two are the same.

    Raises SettingsError, or Transient with a line for each that is taken.
    """
    if twins := [_twins(one, other) for one, other in combinations(ports, 2) if _same(one, other)]:
        raise SettingsError(twins)
    if taken := [sentence for each in ports if (sentence := _taken(each))]:
        raise Transient("\n".join(taken))


def _same(one: Port, other: Port) -> bool:
    return one.number == other.number != 0  # 0 is any free one


def _twins(one: Port, other: Port) -> str:
    return f"{one.variable} and {other.variable} are both {one.number}: each needs its own port."


def _taken(port: Port) -> str:
    try:
        bound_socket(port.host, port.number).close()
    except OSError as error:
        return (
            f"Port {port.number} on {port.host}: {(error.strerror or str(error)).lower()}. Stop "
            f"what listens there, or name another port: {port.variable} ({port.option})."
        )
    return ""

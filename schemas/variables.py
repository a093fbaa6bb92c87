"""Variables with our prefix that nobody reads: a setting that does nothing is a typing mistake.

Owns: which names are read besides the settings, and the sentence for one that is not.
May not: read the environment.
"""

from collections.abc import Iterable
from typing import Final

from schemas.directory import Directory
from schemas.entries import nearest
from schemas.settings import PREFIX, Settings

SETTINGS: Final = frozenset(f"{PREFIX}{name.upper()}" for name in Settings.model_fields)
# Ports of `onereply run`, and the levers of tests: where a stage halts, and a clock that is wrong.
BESIDES: Final = frozenset(
    f"{PREFIX}{name}" for name in ("PROVIDER_PORT", "KAFKA_PORT", "HALT_AT", "WALL_SHIFT_MS")
)


def unknown_variables(names: Iterable[str], directory: Directory) -> list[str]:
    """One line for each of these names that has our prefix and is read by nobody."""
    known = SETTINGS | BESIDES
    read = known | named_by(directory)
    return [
        f"{name} is no setting and is ignored{nearest(name, sorted(known), prefix=PREFIX)}"
        for name in sorted(names)
        if name.startswith(PREFIX) and name not in read
    ]


def named_by(directory: Directory) -> frozenset[str]:
    """The variables that hold the directory's secrets, with their twins that name files."""
    secrets = {name for source in directory.sources.values() for name in source.variables}
    secrets |= {account.api_key for account in directory.accounts.values()}
    return frozenset(secrets | {f"{name}_FILE" for name in secrets})

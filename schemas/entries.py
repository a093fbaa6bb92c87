"""One table of a TOML file as a struct: with every mistake in it, not the first.

Owns: the words for a key that is unknown, missing or of another kind.
May not: have a rule about what a value means.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, NamedTuple

import msgspec


class Entry(NamedTuple):
    """What a table gives: its value, unless a key of it is missing or wrong; and the mistakes."""

    value: Any
    problems: tuple[str, ...]


def labels_of(given: Any) -> Entry:
    """The table as texts by any names."""
    try:
        return Entry(msgspec.convert(given, dict[str, str]), ())
    except msgspec.ValidationError as error:
        return Entry(None, (str(error),))


def entry_of(given: Any, kind: type[msgspec.Struct]) -> Entry:
    """The table as a struct of that kind. An unknown key is a mistake, and hides no other."""
    if not isinstance(given, dict):
        return Entry(None, (f"is a table, not {_kind(given)}",))
    values: dict[str, Any] = {}
    wrong: list[str] = []
    fields = msgspec.structs.fields(kind)
    for each in fields:
        if each.name not in given:
            wrong += [f"{each.name} is missing"] if each.required else []
            continue
        try:
            values[each.name] = msgspec.convert(given[each.name], each.type)
        except msgspec.ValidationError as error:
            wrong.append(f"{each.name}: {error}")
    unknown = unknown_keys(given, [each.name for each in fields])
    return Entry(None if wrong else kind(**values), (*unknown, *wrong))


def unknown_keys(given: Iterable[str], known: Iterable[str]) -> list[str]:
    """One line for each key that is not known, with the known one that it may have meant."""
    names = tuple(known)
    return [f"unknown key {name}{nearest(name, names)}" for name in given if name not in names]


def nearest(name: str, known: Iterable[str], *, prefix: str = "") -> str:
    """The question whether the nearest known name was meant; empty where none is near.

    The prefix that all names have says nothing about which are near.
    """
    bare = [each.removeprefix(prefix) for each in known]
    found = get_close_matches(name.removeprefix(prefix), bare, n=1)
    return f"; did you mean {prefix}{found[0]}?" if found else ""


def _kind(given: Any) -> str:
    return "a list" if isinstance(given, list) else "one value"

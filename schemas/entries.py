"""One table of a TOML file as a struct: with every mistake in it, not the first.

Owns: the words for a key that is unknown, missing or of another kind.
May not: have a rule about what a value means.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import FieldInfo


class Entry(NamedTuple):
    """What a table gives, its mistakes, and the keys that say nothing because they are wrong.

    Where there is a mistake the value serves to look for more of them, and for nothing else.
    """

    value: Any
    problems: tuple[str, ...] = ()
    wrong: frozenset[str] = frozenset()


def labels_of(given: Any) -> Entry:
    """The table as texts by any names."""
    try:
        return Entry(msgspec.convert(given, dict[str, str]))
    except msgspec.ValidationError as error:
        return Entry({}, (str(error),))


def entry_of(given: Any, kind: type[msgspec.Struct]) -> Entry:
    """The table as a struct of that kind. No mistake hides another."""
    fields = msgspec.structs.fields(kind)
    if not isinstance(given, dict):
        problems = [f"is a table, not {_kind(given)}"]
        wrong = {each.name for each in fields}
        return Entry(kind(**_filled(fields, {})), tuple(problems), frozenset(wrong))
    values: dict[str, Any] = {}
    told: dict[str, str] = {}
    for each in fields:
        if each.name in given:
            try:
                values[each.name] = msgspec.convert(given[each.name], each.type)
            except msgspec.ValidationError as error:
                told[each.name] = f"{each.name}: {error}"
        elif each.required:
            told[each.name] = f"{each.name} is missing"
    unknown = unknown_keys(given, [each.name for each in fields])
    value = kind(**_filled(fields, values))
    return Entry(value, (*unknown, *told.values()), frozenset(told))


def _filled(fields: Iterable[FieldInfo], values: dict[str, Any]) -> dict[str, Any]:
    """The values, and something empty for each that is needed and missing."""
    needed = [each for each in fields if each.required and each.name not in values]
    return values | {each.name: "" if each.type is str else () for each in needed}


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

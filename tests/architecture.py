"""The project's own source as data, for the tests that hold its shape.

Owns: finding modules, and reading imports, definitions and calls out of them.
May not: import what it reads.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = ("schemas", "ingest", "processors", "ops", "tests", "examples")

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One file of ours. `path` is relative to the project, with forward slashes."""

    path: str
    text: str
    tree: ast.Module

    def is_in(self, *places: str) -> bool:
        """Whether it is one of these files, or lies below one of these folders."""
        return any(self.path == each or self.path.startswith(f"{each}/") for each in places)

    def imports(self) -> Iterator[str]:
        """Every module that is imported anywhere in it, with dots."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (each.name for each in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield node.module or ""

    def definitions(self) -> Iterator[Definition]:
        """Every function and class in it."""
        for node in ast.walk(self.tree):
            if isinstance(node, Definition):
                yield node

    def attributes(self) -> Iterator[tuple[str, str]]:
        """Every `name.attribute` in it."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                yield node.value.id, node.attr


@cache
def modules() -> tuple[Module, ...]:
    """Every Python file of the project, in the order of its path."""
    return tuple(
        _module(path) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))
    )


def _module(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    return Module(path=path.relative_to(ROOT).as_posix(), text=text, tree=ast.parse(text))


def is_below(name: str, *packages: str) -> bool:
    """Whether a dotted name is one of these packages or lies inside one."""
    return any(name == each or name.startswith(f"{each}.") for each in packages)

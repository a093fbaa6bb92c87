"""The project's own source as data, for the tests that hold its shape.

Owns: finding modules, and reading imports, definitions and calls out of them.
May not: import what it reads.
"""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = ("schemas", "ingest", "processors", "ops", "tests", "examples")

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_ASKED: Final = (
    ast.Import,
    ast.ImportFrom,
    ast.Attribute,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One file of ours. `path` is relative to the project, with forward slashes.

    `imported`: every module imported anywhere in it. `defined`: every function and class.
    `dotted`: every `name.attribute`.
    """

    path: str
    text: str
    tree: ast.Module
    # Walked once: the tests ask a dozen questions of some three hundred files.
    imported: tuple[str, ...]
    defined: tuple[Definition, ...]
    dotted: tuple[tuple[str, str], ...]

    def is_in(self, *places: str) -> bool:
        """Whether it is one of these files, or lies below one of these folders."""
        return any(self.path == each or self.path.startswith(f"{each}/") for each in places)


@cache
def modules() -> tuple[Module, ...]:
    """Every Python file of the project, in the order of its path."""
    return tuple(
        _module(path) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))
    )


def _module(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    nodes = [node for node in ast.walk(tree) if isinstance(node, _ASKED)]
    return Module(
        path=path.relative_to(ROOT).as_posix(),
        text=text,
        tree=tree,
        imported=tuple(name for node in nodes for name in _imported(node)),
        defined=tuple(node for node in nodes if isinstance(node, Definition)),
        dotted=tuple(
            (node.value.id, node.attr)
            for node in nodes
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        ),
    )


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def is_below(name: str, *packages: str) -> bool:
    """Whether a dotted name is one of these packages or lies inside one."""
    return any(name == each or name.startswith(f"{each}.") for each in packages)

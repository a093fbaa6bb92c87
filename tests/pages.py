"""Our pages as data: their command blocks, what each is said to print, tables and links.

Owns: which pages there are, and how a block says that it needs something absent.
May not: run anything.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.architecture import ROOT

README: Final = ROOT / "README.md"
PAGES: Final = (README, *sorted((ROOT / "docs").glob("*.md")))
ALL_PAGES: Final = (*PAGES, *sorted((ROOT / "docs" / "decisions").glob("*.md")))

_FENCE: Final = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"\]\(([^)#\s]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Commands of a page. `needs`: what they need that a test does not have; empty: nothing.

    `prints` is the text block that follows them, empty when there is none.
    """

    page: str
    line: int
    commands: str
    needs: str
    prints: str

    @property
    def id(self) -> str:
        """Where it stands."""
        return f"{self.page}:{self.line}"

    @property
    def make_targets(self) -> list[str]:
        """The targets, when these are calls of make alone."""
        lines = self.commands.splitlines()
        are_make = all(line.startswith("make ") for line in lines)
        return [line.removeprefix("make ") for line in lines] if are_make else []


def blocks() -> list[Block]:
    """Every block of commands on every page."""
    return [block for page in PAGES for block in _blocks(page)]


def _blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    fences = list(_FENCE.finditer(text))
    for number, fence in enumerate(fences):
        kind, _, needs = fence[1].partition(" ")
        if kind != "sh":
            continue
        after = fences[number + 1] if number + 1 < len(fences) else None
        is_followed = after is not None and after[1] == "text"
        is_next = after is not None and not text[fence.end() : after.start()].strip()
        yield Block(
            page=page.relative_to(ROOT).as_posix(),
            line=text.count("\n", 0, fence.start()) + 2,
            commands=fence[2],
            needs=needs,
            prints=after[2] if after is not None and is_followed and is_next else "",
        )


def rows(page: Path, heading: str) -> list[tuple[str, ...]]:
    """The rows of the table whose first column has this heading."""
    lines = page.read_text(encoding="utf-8").splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(f"| {heading} |"))
    found = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        found.append(tuple(cell.strip() for cell in line.strip("|").split("|")))
    return found


def links(page: Path) -> list[str]:
    """Where the page's links inside the project lead."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return [target for target in _LINK.findall(text) if "://" not in target]

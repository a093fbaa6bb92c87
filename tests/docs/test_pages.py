import re
from pathlib import Path

import pytest

from ops.env_example import default_text
from schemas.settings import Settings
from schemas.topics import DAY_MS, TOPICS, TopicSpec
from tests.architecture import ROOT, modules
from tests.pages import ALL_PAGES, README, links, rows

DOCS = ROOT / "docs"
MOST_README_LINES = 250


def kept(spec: TopicSpec) -> str:
    """The topic's cleanup as the page says it."""
    days = "" if spec.retention_ms is None else f" {spec.retention_ms // DAY_MS} d"
    return spec.cleanup + days


def test_readme_fits_its_bound() -> None:
    """A page that nobody finishes is a page that nobody reads."""
    assert len(README.read_text(encoding="utf-8").splitlines()) <= MOST_README_LINES


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    """A dead link is the first thing that a newcomer clicks."""
    assert [link for link in links(page) if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda page: page.name)
def test_pages_are_plain(page: Path) -> None:
    """No pictures in the text: a terminal shows these pages too."""
    assert re.findall("[\U0001f000-\U0001ffff\u2600-\u27bf]", page.read_text("utf-8")) == []


def test_settings_of_the_readme_are_those_of_the_code() -> None:
    """A default that is stated twice is wrong in one place."""
    said = rows(README, "setting")
    for variable, default, meaning in said:
        field = Settings.model_fields[variable.strip("`").removeprefix("ONEREPLY_").lower()]
        assert (default.strip("`"), meaning) == (default_text(field), field.description)

    assert said


def test_topics_of_the_page_are_those_of_the_code() -> None:
    """The table is what a data team reads instead of the code."""
    expected = [
        (f"`{spec.name}`", spec.key, kept(spec), spec.writers, spec.readers, spec.why)
        for spec in TOPICS.values()
    ]

    assert rows(DOCS / "architecture.md", "topic") == expected


def test_tests_that_the_guarantees_name_exist() -> None:
    """A promise whose proof is gone is a claim."""
    named = re.findall(r"`(tests/[^`]+)`", (DOCS / "guarantees.md").read_text("utf-8"))

    assert [path for path in named if not (ROOT / path).exists()] == []
    assert named


def test_names_in_the_glossary_are_names_in_the_code() -> None:
    """A glossary of words that the code does not use is another dialect."""
    ours = "\n".join(module.text for module in modules() if not module.is_in("tests"))
    text = (DOCS / "glossary.md").read_text("utf-8")
    named = [
        name
        for line in text.splitlines()
        if line.startswith("| **") and line.count("|") == 5
        for name in re.findall(r"`([^`]+)`", line.rpartition(" | ")[2])
    ]

    missing = [
        name
        for name in named
        if not re.search(rf"\b{re.escape(name)}\b", ours) and not (ROOT / name).exists()
    ]
    assert missing == []
    assert named


def test_decisions_say_how_they_would_be_seen_to_be_wrong() -> None:
    """A choice that nothing can refute is a habit."""
    wanted = ("**Question.**", "**Chosen.**", "**Not chosen.**", "**How we would notice")
    lacking = [
        f"{page.name} {part}"
        for page in sorted((DOCS / "decisions").glob("*.md"))
        for part in wanted
        if part not in page.read_text("utf-8")
    ]

    assert lacking == []

"""The page about the door says what the door does."""

import re

from ingest import connection, skeleton
from ingest.answers import ANSWERS, Answer, Reason
from ingest.members import MAX_LEVELS
from tests.architecture import ROOT
from tests.pages import rows

PAGE = ROOT / "docs" / "door.md"


def headers(row: Answer) -> str:
    """The row's headers as the page has them."""
    own = [f"{name.decode().title()}: {value.decode()}" for name, value in row.headers]
    wait = [] if row.retry_after_s is None else [f"Retry-After: {row.retry_after_s}"]
    return ", ".join(wait + own)


def test_answers_of_the_page_are_those_of_the_code() -> None:
    """Whoever reads a sender's log looks its reason up here."""
    expected = [
        (f"`{reason}`", str(row.status), headers(row), row.error)
        for reason, row in ((reason, ANSWERS[reason]) for reason in Reason)
    ]

    assert rows(PAGE, "reason") == expected


def test_every_status_is_one_of_which_the_page_says_who_comes_again() -> None:
    """An operator wants to know whether a mail is lost."""
    said = {int(each) for row in rows(PAGE, "status") for each in re.findall(r"\d{3}", row[0])}

    assert said == {row.status for row in ANSWERS.values()}


def test_limits_of_the_page_are_those_of_the_code() -> None:
    """A limit that is stated twice is wrong in one place."""
    said = {name: value for name, value, _ in rows(PAGE, "limit")}

    framing = f"{connection.MAX_FRAMING_BYTES} bytes, and as much again as there is body"
    assert (
        said
        | {
            "path and query": f"{connection.MAX_URL_BYTES} bytes",
            "headers": f"{connection.MAX_HEADERS}",
            "head: request line and headers": f"{connection.MAX_HEAD_BYTES} bytes",
            "chunk lines and trailers beside a body": framing,
            "requests that wait behind one in hand": f"{connection.MAX_PIPELINED}",
            "what is left of such a body without its long strings": f"{skeleton.MOST_BYTES} bytes",
            "JSON": f"{MAX_LEVELS} levels",
        }
        == said
    )

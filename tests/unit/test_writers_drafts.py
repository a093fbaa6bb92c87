import msgspec
import pytest

from processors.writers import Approval, Draft, needs_approval
from processors.writers.drafts import draft_of
from schemas.errors import Refused, TooLarge
from schemas.topics import THREAD_CONTEXT_LIMIT_BYTES


def test_a_text_is_a_draft() -> None:
    """Ten lines must be enough for a writer."""
    assert draft_of("At nine.") == Draft("At nine.")


def test_a_draft_is_itself() -> None:
    """What a writer says of its text goes on with it."""
    draft = Draft("At nine.", html="<p>At nine.</p>", approval=needs_approval("Tells our hours."))

    assert draft_of(draft) == draft


REFUSED: dict[str, tuple[object, str]] = {
    "nothing": (None, "the writer gave back NoneType, not a text or a Draft"),
    "a dict": ({"text": "hi"}, "the writer gave back dict, not a text or a Draft"),
    "bytes": (b"hi", "the writer gave back bytes, not a text or a Draft"),
    "an empty text": ("", "the writer gave back an empty text"),
    "a blank text": (" \n\t", "the writer gave back an empty text"),
    "a draft of no text": (Draft(None), "the draft's text is NoneType, not a text"),  # type: ignore[arg-type]  # what a careless writer does
    "a draft of a blank text": (Draft(" "), "the writer gave back an empty text"),
    "html that is no text": (Draft("a", html=b"b"), "the draft's html is bytes, not a text"),  # type: ignore[arg-type]  # as above
    "half a character": ("\ud83d", "the draft's text is not valid Unicode"),
    "an approval that is a text": (
        Draft("a", approval="yes"),  # type: ignore[arg-type]  # as above
        "the draft's approval was not made by needs_approval",
    ),
}


@pytest.mark.parametrize(("written", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_a_reply_is_refused(written: object, reason: str) -> None:
    """An operator reads the reason, and the customer gets no empty mail."""
    with pytest.raises(Refused) as refused:
        draft_of(written)

    assert str(refused.value) == reason


@pytest.mark.parametrize(
    "draft",
    [Draft("é" * (THREAD_CONTEXT_LIMIT_BYTES // 2 + 1)), Draft("a", html="h" * 300_000)],
    ids=["text", "html"],
)
def test_a_text_above_the_limit_is_too_large(draft: Draft) -> None:
    """A model in a loop must not fill the topic."""
    with pytest.raises(TooLarge):
        draft_of(draft)


def test_a_text_at_the_limit_passes() -> None:
    """The limit is in bytes, and belongs to what is allowed."""
    draft = draft_of("é" * (THREAD_CONTEXT_LIMIT_BYTES // 2))

    assert len(draft.text.encode()) == THREAD_CONTEXT_LIMIT_BYTES


def test_evidence_is_kept_as_json() -> None:
    """The person who decides sees what the writer saw."""
    approval = needs_approval("Refund of 40 EUR", {"order": 7})

    assert approval == Approval("Refund of 40 EUR", msgspec.Raw(b'{"order":7}'))


@pytest.mark.parametrize(
    ("summary", "evidence"),
    [
        ("", None),
        (" ", None),
        ("x" * 141, None),
        ("ok", object()),
        ("ok", {"a": {1, "b"}}.keys()),
        ("ok", "\ud83d"),
        ("ok", "x" * (16 * 1024)),
    ],
    ids=["empty", "blank", "long", "no json", "keys", "half a character", "large"],
)
def test_an_approval_that_nobody_could_judge_is_refused(summary: str, evidence: object) -> None:
    """One line and a page: more is not read, less says nothing."""
    with pytest.raises(Refused):
        needs_approval(summary, evidence)

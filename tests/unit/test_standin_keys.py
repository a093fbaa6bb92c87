"""The life of an idempotency key at the provider."""

from datetime import UTC, datetime, timedelta

import pytest

from ops.standin.idempotency import (
    KEY,
    KEY_LIFE,
    Answer,
    Conflict,
    Fresh,
    Keys,
    Repeated,
    fingerprint_of,
)

T0 = datetime(2026, 11, 30, 10, tzinfo=UTC)
ANSWER = Answer(message_id="<r1@x.example>", thread_id="thd_1")
SECOND = timedelta(seconds=1)


def completed_keys() -> Keys:
    """Keys of which `k` was completed at T0 by the request `print`."""
    keys = Keys()
    keys.claim("k", "print", now=T0)
    keys.complete("k", "print", answer=ANSWER, now=T0)
    return keys


def test_first_claim_is_fresh_and_the_second_conflicts() -> None:
    """A key in flight is a conflict even for the same request."""
    keys = Keys()

    claims = [keys.claim("k", "print", now=T0) for _ in range(2)]

    assert claims == [Fresh(), Conflict()]


@pytest.mark.parametrize(
    ("fingerprint", "after", "expected"),
    [
        ("print", KEY_LIFE - SECOND, Repeated(ANSWER)),
        ("other", KEY_LIFE - SECOND, Conflict()),
        ("print", KEY_LIFE, Fresh()),
        ("other", KEY_LIFE, Fresh()),
    ],
    ids=["same-alive", "other-alive", "same-expired", "other-expired"],
)
def test_completed_key_answers_until_its_day_is_over(
    fingerprint: str, after: timedelta, expected: object
) -> None:
    """The last instant of the day belongs to the key, the next one does not."""
    assert completed_keys().claim("k", fingerprint, now=T0 + after) == expected


def test_released_key_is_fresh() -> None:
    """A failed first attempt leaves nothing behind."""
    keys = Keys()
    keys.claim("k", "print", now=T0)

    keys.release("k")

    assert keys.claim("k", "other", now=T0) == Fresh()


def test_release_does_not_forget_a_completed_key() -> None:
    """Only what is in flight can fail."""
    keys = completed_keys()

    keys.release("k")

    assert keys.claim("k", "print", now=T0) == Repeated(ANSWER)


def test_settling_key_conflicts_until_it_is_free() -> None:
    """The short window after a failed first attempt."""
    keys = Keys()

    keys.settle("k", free_at=T0 + SECOND)

    assert keys.claim("k", "print", now=T0) == Conflict()
    assert keys.claim("k", "print", now=T0 + SECOND) == Fresh()


def test_settling_does_not_replace_a_completed_key() -> None:
    """A fault on a repeat must not make the provider forget the mail."""
    keys = completed_keys()

    keys.settle("k", free_at=T0 + SECOND)

    assert keys.claim("k", "print", now=T0) == Repeated(ANSWER)


def test_parts_of_a_fingerprint_do_not_run_together() -> None:
    """Two requests that differ must not look the same because their ids join up."""
    prints = {
        fingerprint_of("reply", "a", "bc", body=b""),
        fingerprint_of("reply", "ab", "c", body=b""),
        fingerprint_of("reply", "a", "b", body=b"c"),
        fingerprint_of("reply-all", "a", "bc", body=b""),
    }

    assert len(prints) == 4


@pytest.mark.parametrize("key", ["", "a b", "a\n", "é", "k" * 257, "a,b"])
def test_key_outside_the_alphabet_is_none(key: str) -> None:
    """1 to 256 characters, a line end not among them (providers.md 1.6)."""
    assert KEY.fullmatch(key) is None

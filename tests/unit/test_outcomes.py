"""What each answer means: the table, walked, and its totality."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from processors.core.outcomes import (
    CONTRACTS,
    Answer,
    Contract,
    Failure,
    Health,
    Verdict,
    health,
    is_our_reply,
    judge,
    reason,
)

AGENTMAIL = CONTRACTS["agentmail"]
TELLING = Contract(
    key_ttl_ms=1,
    can_look_up=False,
    conflicts={"running": Verdict.RUNNING, "other": Verdict.OTHER_CONTENT},
    about_account=frozenset({"daily_quota"}),
)


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (Answer(status=200, message_id="<r@x>"), Verdict.ACCEPTED),
        (Answer(status=202, message_id="<r@x>"), Verdict.ACCEPTED),
        (Answer(status=200), Verdict.UNKNOWN),
        (Answer(status=204), Verdict.UNKNOWN),
        (Answer(status=100), Verdict.UNKNOWN),
        (Answer(status=301), Verdict.UNKNOWN),
        (Answer(status=307), Verdict.UNKNOWN),
        (Answer(status=400, code="validation_error"), Verdict.REJECTED),
        (Answer(status=401), Verdict.PAUSE),
        (Answer(status=402), Verdict.PAUSE),
        (Answer(status=403), Verdict.PAUSE),
        (Answer(status=403, code="missing_permission"), Verdict.PAUSE),
        (Answer(status=403, code="message_rejected"), Verdict.REJECTED),
        (Answer(status=404, code="not_found"), Verdict.REJECTED),
        (Answer(status=408), Verdict.UNKNOWN),
        (Answer(status=409, code="conflict"), Verdict.IN_CONFLICT),
        (Answer(status=409), Verdict.IN_CONFLICT),
        (Answer(status=413), Verdict.REJECTED),
        (Answer(status=422, code="unprocessable"), Verdict.REJECTED),
        (Answer(status=429, code="rate_limit_exceeded"), Verdict.NOT_NOW),
        (Answer(status=500), Verdict.UNKNOWN),
        (Answer(status=503), Verdict.UNKNOWN),
        (Answer(status=599), Verdict.UNKNOWN),
        (Answer(status=700), Verdict.UNKNOWN),
        (Answer(), Verdict.UNKNOWN),
        (Answer(failure=Failure.TIMEOUT), Verdict.UNKNOWN),
        (Answer(failure=Failure.CONNECTION), Verdict.UNKNOWN),
        (Answer(failure=Failure.LOST), Verdict.UNKNOWN),
        (Answer(failure=Failure.UNREACHED), Verdict.UNWRITTEN),
        (Answer(failure=Failure.UNWRITTEN), Verdict.UNWRITTEN),
        (Answer(failure=Failure.UNCONFIGURED), Verdict.PAUSE),
    ],
)
def test_answer_means_what_the_table_says(answer: Answer, verdict: Verdict) -> None:
    """A wrong row loses a reply, or sends it twice."""
    assert judge(answer, AGENTMAIL) == verdict


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (Answer(status=409, code="running"), Verdict.RUNNING),
        (Answer(status=409, code="other"), Verdict.OTHER_CONTENT),
        (Answer(status=409, code="new"), Verdict.IN_CONFLICT),
        (Answer(status=429, code="daily_quota"), Verdict.PAUSE),
        (Answer(status=403, code="message_rejected"), Verdict.PAUSE),
    ],
)
def test_contract_adds_what_its_codes_say(answer: Answer, verdict: Verdict) -> None:
    """Providers that say more than a status are believed."""
    assert judge(answer, TELLING) == verdict


@given(
    st.builds(
        Answer,
        status=st.integers(),
        failure=st.sampled_from(Failure),
        retry_after=st.none() | st.text(),
        code=st.none() | st.text(),
        message_id=st.none() | st.text(),
    ),
    st.sampled_from((AGENTMAIL, TELLING)),
)
def test_every_answer_has_a_meaning(answer: Answer, contract: Contract) -> None:
    """Whatever comes back, the reply goes on or is settled, and no free text gets into a record."""
    verdict = judge(answer, contract)

    assert verdict in Verdict
    assert health(answer, verdict) in Health
    assert reason(answer).isascii()


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (Answer(status=200, message_id="<r@x>"), Health.WELL),
        (Answer(status=422), Health.WELL),
        (Answer(status=429), Health.WELL),
        (Answer(status=401), Health.SICK),
        (Answer(failure=Failure.UNCONFIGURED), Health.SICK),
        (Answer(status=500), Health.FAILING),
        (Answer(failure=Failure.TIMEOUT), Health.FAILING),
        (Answer(failure=Failure.UNREACHED), Health.FAILING),
        (Answer(failure=Failure.LOST), Health.SILENT),
        (Answer(failure=Failure.UNWRITTEN), Health.SILENT),
    ],
)
def test_answer_says_how_the_account_is(answer: Answer, found: Health) -> None:
    """A pause must follow from what is about the account, and from nothing else."""
    assert health(answer, judge(answer, AGENTMAIL)) == found


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(status=422, code="unprocessable"), "422 unprocessable"),
        (Answer(status=500), "500"),
        (Answer(status=400, code="no such user jane@customer.example"), "400"),
        (Answer(status=400, code="x" * 65), "400"),
        (Answer(failure=Failure.TIMEOUT), "timeout"),
    ],
)
def test_reason_is_a_code_and_never_a_sentence(answer: Answer, words: str) -> None:
    """A provider's sentences may quote the mail, and receipts hold no content."""
    assert reason(answer) == words


@pytest.mark.parametrize(
    ("labels", "in_reply_to", "is_ours"),
    [
        (["sent"], "<m1@customer.example>", True),
        (["sent", "unread"], " m1@customer.example ", True),
        (["received"], "<m1@customer.example>", False),
        (["sent"], "<m2@customer.example>", False),
        (["sent"], None, False),
        (None, "<m1@customer.example>", False),
    ],
)
def test_our_reply_is_sent_and_answers_that_message(
    labels: object, in_reply_to: object, *, is_ours: bool
) -> None:
    """A thread holds other mails, ours among them; only one is the reply that is looked for."""
    assert is_our_reply(labels, in_reply_to, answered_id="m1@customer.example") == is_ours

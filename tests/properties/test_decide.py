from collections import defaultdict
from email.utils import getaddresses

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from processors.core import signals
from processors.core.addresses import Address, parse_address
from processors.core.findings import Findings
from processors.core.rules import ASKED, judge
from processors.core.signals import SIGNAL_FIELDS
from schemas.directory import ROUTES
from schemas.events import Kind, ThreadEvent, Verdicts
from schemas.keys import ThreadKey
from tests.deciding import (
    DAY_MS,
    HOUR_MS,
    Deciding,
    a_directory,
    a_fact,
    a_mail,
    a_reply_sent,
    asks,
    decisions,
    ordered,
)

# Two cores are shared with brokers: how long one example takes says nothing here.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
FEW = settings(UNHURRIED, max_examples=40)

# JSON holds no lone surrogates, so neither does an event.
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
hostile = st.text(alphabet='<>@,;:()"\\ \r\n\t.[]+=?-aB1\x00\u2028é', max_size=40)
strings = words | hostile
maybe = st.none() | strings
addresses = strings | st.sampled_from(
    [
        "jane@customer.example",
        "Jane <JANE@customer.example>",
        "support+x@inbox.example",
        "MAILER-DAEMON",
        "noreply@x.example",
        "<>",
        "(" * 998,
        "a" * 5000,
    ]
)
header_values = strings | st.sampled_from(["no", "auto-replied", "<>", "bulk", "all", "text/plain"])
header_maps = st.dictionaries(
    st.sampled_from(sorted(SIGNAL_FIELDS)) | strings,
    st.lists(header_values, max_size=3).map(tuple),
    max_size=6,
)
verdicts = st.sampled_from(["pass", "fail", "unknown", "", "PASS"])
kinds = st.sampled_from(
    [value for name, value in vars(Kind).items() if name.isupper()] + ["message.future"]
)


@st.composite
def mails(draw: st.DrawFn) -> ThreadEvent:
    """A received mail whose every field may be odd."""
    return a_mail(
        sender=draw(st.none() | addresses),
        recipient=draw(st.none() | addresses),
        reply_to=tuple(draw(st.lists(addresses, max_size=7))),
        signals=draw(st.none() | header_maps),
        labels=tuple(draw(st.lists(words, max_size=3))),
        verdicts=Verdicts(spam=draw(verdicts), dmarc=draw(verdicts), virus=draw(verdicts)),
        message_id=draw(maybe),
        thread_key=draw(maybe),
        subject=draw(maybe),
        text=draw(maybe),
        html=draw(maybe),
        provider=draw(st.sampled_from(["agentmail", "other"])),
        is_derived_id=draw(st.booleans()),
        is_truncated=draw(st.booleans()),
        occurred_at_ns=draw(st.integers(946_684_800_000_000_000, 1_767_607_500_000_000_000)),
    )


@FEW
@given(mail=mails(), route=st.sampled_from(ROUTES), late_ms=st.none() | st.integers(0, 10**9))
def test_any_mail_gets_one_decision_and_its_copy_none(
    mail: ThreadEvent, route: str, late_ms: int | None
) -> None:
    """Whatever a stranger writes, there is one outcome, and it never stops the partition."""
    deciding = Deciding(a_directory(route))

    first = deciding.give(ordered(mail, late_by_ms=late_ms))
    again = deciding.give(ordered(mail, late_by_ms=late_ms))

    (decision,) = decisions(first)
    assert len(asks(first)) == (decision.outcome in ASKED)
    assert again == []


@FEW
@given(
    kind=kinds,
    recipients=st.lists(addresses, max_size=4),
    message_id=maybe,
    reply_key=maybe,
    detail=maybe | st.just("Permanent"),
)
def test_any_other_event_gets_no_decision(
    kind: str, recipients: list[str], message_id: str, reply_key: str, detail: str
) -> None:
    """Facts teach; they are never answered and never raise."""
    fact = a_fact(
        kind,
        recipients=tuple(recipients),
        message_id=message_id,
        reply_key=reply_key,
        detail=detail,
    )
    deciding = Deciding()

    outputs = deciding.give(a_mail(), a_reply_sent(), fact, fact)

    mail_count = 2 if kind == Kind.RECEIVED else 1
    assert len(decisions(outputs)) == mail_count


Step = tuple[int, str, str]  # wait, thread, sender


@FEW
@given(
    steps=st.lists(
        st.tuples(
            st.integers(0, 30 * 60_000) | st.integers(0, 3 * HOUR_MS),
            st.sampled_from("tuv"),
            st.sampled_from(
                ["a@x.example", "a+1@x.example", "b-1@x.example", "b-2@x.example", "c@y.example"]
            ),
        ),
        max_size=40,
    )
)
def test_caps_are_never_exceeded(steps: list[Step]) -> None:
    """For every schedule, in every stretch of time as long as a cap's window."""
    limits = {"thread": 2, "correspondent": 3, "domain": 4, "inbox": 3}
    deciding = Deciding(
        cap_thread_hour=2, cap_correspondent_day=3, cap_domain_day=4, cap_inbox_hour=3
    )
    spent: dict[tuple[str, str], list[int]] = defaultdict(list)

    for number, (wait_ms, thread, sender) in enumerate(steps):
        deciding.wait(wait_ms)
        now_ms = deciding.desk.now_ms
        mail = a_mail(
            f"m{number}",
            occurred_at_ns=now_ms * 1_000_000,
            thread_key=ThreadKey(thread),
            sender=sender,
        )
        if asks(deciding.give(mail)):
            spent["thread", thread].append(now_ms)
            spent["correspondent", sender.replace("+1", "")[0]].append(now_ms)
            spent["domain", sender.partition("@")[2]].append(now_ms)
            spent["inbox", ""].append(now_ms)

    windows = {"thread": HOUR_MS, "inbox": HOUR_MS, "correspondent": DAY_MS, "domain": DAY_MS}
    for (cap, _), times in spent.items():
        for end in times:
            assert sum(end - windows[cap] < each <= end for each in times) <= limits[cap]


@FEW
@given(
    marked=st.lists(st.booleans(), min_size=1, max_size=12),
    limit=st.integers(0, 5),
)
def test_replays_charge_nothing(marked: list[bool], limit: int) -> None:
    """However live mail and replays mix, live mail has the whole of its cap."""
    deciding = Deciding(cap_thread_hour=limit, cap_correspondent_day=100)

    asked = [
        bool(asks(deciding.give(a_mail(f"m{n}", at_ms=n), mark="replay" if is_marked else None)))
        for n, is_marked in enumerate(marked)
    ]

    live = [each for each, is_marked in zip(asked, marked, strict=True) if not is_marked]
    replayed = [each for each, is_marked in zip(asked, marked, strict=True) if is_marked]
    assert live == [n < limit for n in range(len(live))]
    assert all(replayed)


@FEW
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=20))
def test_mail_is_asked_for_the_first_time_once(arrivals: list[tuple[int, bool]]) -> None:
    """Any mix of copies and replays: at most one unmarked ask a mail, and later ones say so."""
    deciding = Deciding(cap_thread_hour=100, cap_correspondent_day=100)

    for name, is_marked in arrivals:
        deciding.give(a_mail(f"m{name}", at_ms=name), mark="replay" if is_marked else None)

    unmarked = [
        each.reply_key
        for each in asks([output for output in deciding.outputs if output.mark is None])
    ]
    assert len(unmarked) == len(set(unmarked))


BLOCKING = st.sampled_from(
    [
        {"auto-submitted": ("auto-replied",)},
        {"return-path": ("<>",)},
        {"list-id": ("x",)},
        {"precedence": ("bulk",)},
        {"x-auto-response-suppress": ("All",)},
        {"x-failed-recipients": ("x@y.example",)},
        {"x-loop": ("support@inbox.example",)},
        {"received": ("x",) * 100},
    ]
)


@FEW
@given(mail=mails(), blocking=BLOCKING)
def test_nothing_beside_it_makes_a_blocking_field_harmless(
    mail: ThreadEvent, blocking: dict[str, tuple[str, ...]]
) -> None:
    """No other field, however odd, argues a machine's mark away."""
    marked = msgspec.structs.replace(mail, signals={**(mail.signals or {}), **blocking})

    (decision,) = decisions(Deciding().give(marked))

    assert decision.outcome not in ASKED


@UNHURRIED
@given(found=st.builds(Findings, route=st.sampled_from([*ROUTES, "odd"]) | st.none()))
def test_every_finding_has_a_rule(found: Findings) -> None:
    """The table is total."""
    assert judge(found).name


@UNHURRIED
@given(raw=st.none() | addresses)
def test_reading_an_address_is_total_and_stable(raw: str | None) -> None:
    """Any text is one address or none, and an address read again is itself."""
    address = parse_address(raw)

    if address is not None and '"' not in (raw or ""):
        assert parse_address(address.key if address.domain else address.local) == address


@UNHURRIED
@given(
    local=st.text("aZ9!#$%&'*+/=?^_`{|}~-", min_size=1, max_size=400),
    host=st.lists(st.text("aZ9-", min_size=1, max_size=9), min_size=1, max_size=4).map(".".join),
    name=st.text("aZ ", max_size=9),
)
def test_short_cut_reads_what_the_parser_reads(local: str, host: str, name: str) -> None:
    """The common forms are read without the parser; both must agree."""
    raw = f"{name} <{local}@{host}>"
    ((_, parsed),) = getaddresses([raw])
    expected = None
    if len(parsed) <= 320:
        expected = Address(parsed.rpartition("@")[0].lower(), parsed.rpartition("@")[2].lower())

    assert parse_address(raw) == parse_address(parsed) == expected


@UNHURRIED
@given(st.lists(header_values, max_size=3).map(tuple))
def test_reading_a_field_is_total(values: tuple[str, ...]) -> None:
    """No header value of a stranger raises."""
    readings = (
        signals.is_automatic,
        signals.is_bulk,
        signals.is_auto_reply,
        signals.is_suppressing,
        signals.is_null_path,
        signals.is_autoresponder,
    )

    assert all(isinstance(reading(values), bool) for reading in readings)
    assert signals.report_kind(values) is None or values
    assert all(signals.loop_marks(values))

from collections import Counter

import pytest

from processors.core.addresses import Address
from processors.core.findings import Findings
from processors.core.rules import RULES, judge
from processors.core.signals import SIGNAL_FIELDS
from schemas.directory import ROUTES
from tests.rule_cases import ANSWERED, BLOCKED, found


@pytest.mark.parametrize(("rule", "findings"), BLOCKED.values(), ids=BLOCKED.keys())
def test_rule_is_the_first_that_applies(rule: str, findings: Findings) -> None:
    """Each signal that means "do not answer" has a rule, and each rule its own name."""
    assert judge(findings).name == rule


@pytest.mark.parametrize("findings", ANSWERED.values(), ids=ANSWERED.keys())
def test_mail_of_a_person_is_answered(findings: Findings) -> None:
    """A sign that is none must not silence a customer."""
    assert judge(findings).outcome == "send"


OUTCOMES = {
    "quarantine": {"spam", "virus", "dmarc", "blocked", "route-quarantine"},
    "store": {
        "no-route",
        "route-store",
        "too-old",
        "cap-thread",
        "cap-correspondent",
        "cap-domain",
        "cap-inbox",
    },
    "notify": {"route-notify"},
    "hold": {
        "headers-unknown",
        "derived-id",
        "body-unknown",
        "unauthenticated",
        "unclear-reply-to",
        "newer-asked",
        "route-hold",
    },
    "draft": {"route-draft"},
    "send": {"route-send"},
}


def test_every_other_rule_refuses() -> None:
    """Our own mail, machines and nobody are never answered, not even by a person's approval."""
    by_name = {rule.name: rule.outcome for rule in RULES}
    listed = {name: outcome for outcome, names in OUTCOMES.items() for name in names}

    assert by_name == dict.fromkeys(by_name, "refuse") | listed


def test_names_are_unique_and_each_has_a_case() -> None:
    """A name stands for one rule for ever, and a rule without a case is a guess."""
    counted = Counter(rule.name for rule in RULES)

    assert set(counted.values()) == {1}
    assert {rule for rule, _ in BLOCKED.values()} == set(counted)


def test_every_rule_says_why() -> None:
    """An operator who asks why a mail was not answered gets a sentence."""
    assert [rule.name for rule in RULES if not rule.why.strip()] == []


def test_fields_that_rules_read_are_the_fields_that_are_lifted() -> None:
    """A field that no adapter lifts would be a rule that never fires."""
    read = {name for _, findings in BLOCKED.values() for name in (findings.signals or ())} | set()

    assert read == SIGNAL_FIELDS


@pytest.mark.parametrize("route", sorted({*ROUTES, "unheard of"}))
def test_nothing_is_sent_on_a_route_that_does_not_say_send(route: str) -> None:
    """Sending is opted into; whatever is left over goes to a person."""
    expected = {route: route for route in ROUTES} | {"unheard of": "hold"}

    assert judge(found(route=route)).outcome == expected[route]


FIRST = {
    "a bounce from a daemon is a bounce": ("bounce", {"report": "delivery-status"}),
    "spam in our name is spam": ("spam", {"labels": frozenset({"spam"}), "has_own_id": True}),
    "caps come before doubts": ("cap-inbox", {"full_cap": "cap-inbox", "has_derived_id": True}),
    "doubts come before the route": ("derived-id", {"has_derived_id": True, "route": "draft"}),
    "no route, whatever it is": ("no-route", {"route": None, "has_own_id": True}),
}


@pytest.mark.parametrize(("rule", "changes"), FIRST.values(), ids=FIRST.keys())
def test_order_of_rules_names_the_better_reason(rule: str, changes: dict[str, object]) -> None:
    """Several rules may apply; the name that an operator sees is the one that explains most."""
    sender = Address("mailer-daemon", "mx.customer.example") if rule == "bounce" else None
    changes = changes | ({"sender": sender} if sender else {})

    assert judge(found(**changes)).name == rule

from typing import Any

import pytest

from tests.deciding import (
    BILLING,
    DAY_MS,
    HOUR_MS,
    JANE,
    Deciding,
    a_mail,
)

CAPS = {
    "thread": ({"cap_thread_hour": 2}, {}, "cap-thread", HOUR_MS),
    "correspondent": (
        {"cap_correspondent_day": 2},
        {"spread": "thread"},
        "cap-correspondent",
        DAY_MS,
    ),
    "domain": ({"cap_domain_day": 2}, {"spread": "sender"}, "cap-domain", DAY_MS),
    "inbox": ({"cap_inbox_hour": 2}, {"spread": "domain"}, "cap-inbox", HOUR_MS),
}


@pytest.mark.parametrize(("settings", "how", "rule", "window_ms"), CAPS.values(), ids=CAPS.keys())
def test_cap_stores_what_is_above_it_until_its_window_has_passed(
    settings: dict[str, Any], how: dict[str, str], rule: str, window_ms: int
) -> None:
    """The last line of defence against loops, each cap on its own."""
    deciding = Deciding(**settings)
    spread = how.get("spread")

    def rule_of(number: int) -> str:
        thread = f"t{number}" if spread else "t"
        sender = {"sender": f"{chr(97 + number)}@customer.example"}.get(spread or "", JANE)
        if spread == "domain":
            sender = f"jane@c{number}.example"
        return deciding.rule(a_mail(f"m{number}", at_ms=number, thread_key=thread, sender=sender))

    found = [rule_of(number) for number in range(3)]
    deciding.wait(window_ms + window_ms // 12)

    assert found == ["route-send", "route-send", rule]
    assert rule_of(4) == "route-send"


def test_reply_to_counts_as_a_correspondent_too() -> None:
    """Many senders with one address for answers would flood that address."""
    deciding = Deciding(cap_correspondent_day=1)
    victim: dict[str, Any] = {"reply_to": ("victim@customer.example",)}

    found = [
        deciding.rule(a_mail("a", sender="a@x.example", thread_key="a", **victim)),
        deciding.rule(a_mail("b", sender="b@y.example", thread_key="b", **victim)),
    ]

    assert found == ["route-send", "cap-correspondent"]


def test_caps_of_one_inbox_do_not_bind_another() -> None:
    """One tenant's busy inbox must not silence another's."""
    deciding = Deciding(cap_thread_hour=1, cap_inbox_hour=1, cap_correspondent_day=1)
    deciding.give(a_mail())

    assert deciding.rule(a_mail(inbox_id=BILLING, recipient=BILLING)) == "route-send"


def test_refused_and_repeated_mail_counts_nothing() -> None:
    """A flood of out-of-office answers must not use up a customer's replies."""
    deciding = Deciding(cap_thread_hour=1)
    away: dict[str, Any] = {"signals": {"auto-submitted": ("auto-replied",)}}
    deciding.give(*(a_mail(f"away{number}", **away) for number in range(5)))

    found = [deciding.rule(a_mail("a", at_ms=1))]
    deciding.give(a_mail("a", at_ms=1))
    found.append(deciding.rule(a_mail("b", at_ms=2)))

    assert found == ["route-send", "cap-thread"]

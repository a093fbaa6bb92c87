"""Mails that machines wrote, and mails of which it is not known who wrote them: none is answered.

Owns: one entry a sign, with the rule that must see it.
May not: hold a mail that is owed a reply.
"""

from typing import Any, Final

from ops.demo.entries import SALES, Clock, Entry, NotOwed, received
from ops.standin.payloads import ABSENT

# A sign, the rule that must see it, and the header fields or members that show it.
SIGNS: Final[tuple[tuple[str, str, dict[str, Any]], ...]] = (
    ("out-of-office", "auto-submitted", {"headers": {"AUTO-SUBMITTED": "auto-replied (vacation)"}}),
    (
        "bounce",
        "bounce",
        {
            "sender": "Mail Delivery System <MAILER-DAEMON@mail.example>",
            "headers": {
                "Return-Path": "<>",
                "Content-Type": 'multipart/report; report-type="delivery-status"; boundary=x',
            },
        },
    ),
    ("newsletter", "list", {"headers": {"List-Id": "News <news.example>"}}),
    ("bulk", "precedence", {"headers": {"Precedence": "bulk"}}),
    (
        "exchange",
        "auto-response-suppress",
        {"headers": {"X-Auto-Response-Suppress": "OOF, AutoReply"}},
    ),
    ("no-reply", "no-reply-sender", {"sender": "Shop <no-reply@big.example>"}),
    ("own-address", "own-address", {"sender": f"Sales <{SALES}>"}),
    ("headers-unknown", "headers-unknown", {"headers": ABSENT}),
    (
        "nobody-vouches",
        "unauthenticated",
        {"labels": ["received", "unread", "unauthenticated"]},
    ),
)


def machines(clock: Clock) -> tuple[Entry, ...]:
    """One mail a sign."""
    return tuple(
        Entry(name=name, payload=received(name, clock, 4, **signs), expected=NotOwed(rule))
        for name, rule, signs in SIGNS
    )

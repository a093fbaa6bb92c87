"""The mailbox and the attempts as the control side shows them.

Owns: the rows of /_standin/mailbox, /_standin/counts and /_standin/requests.
May not: leave a mail out of a count.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from ops.standin.attempts import Attempt, Attempts
from ops.standin.entries import AcceptedMail
from ops.standin.messages import as_json


def mailbox_page(accepted: Sequence[AcceptedMail], *, after: int, limit: int) -> dict[str, Any]:
    """The mails after this sequence number; `next_after` is there while more follow."""
    mails = accepted[after : after + limit]
    page: dict[str, Any] = {"total": len(accepted), "mails": [_mail_row(mail) for mail in mails]}
    if after + len(mails) < len(accepted):
        page["next_after"] = after + len(mails)
    return page


def count_rows(accepted: Sequence[AcceptedMail]) -> dict[str, dict[str, int]]:
    """Inbox id -> id of the answered message -> mails. Mails that answer nothing count under ""."""
    counted = Counter((mail.message.inbox_id, mail.message.in_reply_to or "") for mail in accepted)
    rows: dict[str, dict[str, int]] = {}
    for (inbox_id, message_id), mails in counted.items():
        rows.setdefault(inbox_id, {})[message_id] = mails
    return rows


def attempt_rows(attempts: Attempts) -> tuple[Attempt, ...]:
    """The attempts that are kept, oldest first."""
    return attempts.kept()


def _mail_row(mail: AcceptedMail) -> dict[str, Any]:
    about = msgspec.to_builtins(mail)
    del about["message"]
    return {**as_json(mail.message), "idempotency_key": mail.idempotency_key, **about}

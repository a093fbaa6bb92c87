"""Whether the promise was kept: the provider's mailbox against what the scenario expects.

Owns: the comparison, and its words.
May not: look at a topic of ours, or at anything else that we say about ourselves.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from ops.demo.entries import Entry, Owed

Mails = Sequence[dict[str, Any]]
Identity = tuple[str, str]


class Verdict(Struct, frozen=True, kw_only=True):
    """What the mailbox holds, and every way in which it differs from what is expected."""

    owed: int
    mails: int
    threads: int
    threads_in_order: int
    differences: tuple[str, ...]

    @property
    def is_kept(self) -> bool:
        """Every message that is owed a reply has one mail, and there is no other mail."""
        return not self.differences


def owed_by(entries: Sequence[Entry]) -> dict[Identity, Entry]:
    """The messages that are owed a reply."""
    return {entry.identity: entry for entry in entries if isinstance(entry.expected, Owed)}


def judged(entries: Sequence[Entry], mails: Mails) -> Verdict:
    """The verdict on these mails, in the order in which the provider accepted them."""
    owed = owed_by(entries)
    names = {entry.identity: entry.name for entry in entries if entry.is_message}
    found = Counter(map(answered_by, mails))
    expected, seen = _expected_order(owed), _seen_order(owed, mails)
    return Verdict(
        owed=len(owed),
        mails=len(mails),
        threads=len(expected),
        threads_in_order=sum(seen[thread] == order for thread, order in expected.items()),
        differences=(
            *(f"{owed[each].name}: no mail" for each in owed if not found[each]),
            *(f"{owed[each].name}: {found[each]} mails" for each in owed if found[each] > 1),
            *(
                f"{names.get(each, each[1] or 'nothing')}: {count} mails, and none is owed"
                for each, count in found.items()
                if each not in owed
            ),
            *(
                f"{thread[1]}: answered in the order {', '.join(seen[thread])}; "
                f"expected {', '.join(order)}"
                for thread, order in expected.items()
                # What is missing or doubled is told above.
                if sorted(seen[thread]) == sorted(order) and seen[thread] != order
            ),
        ),
    )


def answered_by(mail: dict[str, Any]) -> Identity:
    """The message that a mail answers."""
    return mail["inbox_id"], mail.get("answered") or ""


def _expected_order(owed: dict[Identity, Entry]) -> dict[Identity, list[str]]:
    threads: dict[Identity, list[tuple[int, str]]] = defaultdict(list)
    for entry in owed.values():
        assert isinstance(entry.expected, Owed)  # noqa: S101  # owed_by has chosen these
        threads[entry.thread].append((entry.expected.place, entry.name))
    return {thread: [name for _, name in sorted(places)] for thread, places in threads.items()}


def _seen_order(owed: dict[Identity, Entry], mails: Mails) -> dict[Identity, list[str]]:
    order: dict[Identity, list[str]] = defaultdict(list)
    for mail in mails:
        if (entry := owed.get(answered_by(mail))) is not None:
            order[entry.thread].append(entry.name)
    return order

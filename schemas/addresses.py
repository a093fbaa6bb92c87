"""Which of our inboxes an address belongs to, for providers that name addresses and not inboxes.

Owns: that rule, for the door and for whoever reads the payload behind it.
May not: parse a header: these are bare addresses of an envelope.
"""

from collections.abc import Iterable


class Inboxes:
    """Inboxes by name, and by the addresses that lead to them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        # Of two that differ in letter case only, the first by name stands for both.
        self._folded = {name.casefold(): name for name in sorted(self._names, reverse=True)}

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def at(self, address: str) -> str | None:
        """The inbox that mail to this address is in, or None.

        An inbox whose name is the address counts first; then one that differs in letter case (RFC
        5321 2.4: domains have none, and local parts that differ only in it are hardly ever two);
        then one without the tag behind a plus (RFC 5233), with which mail to one inbox is sorted.
        """
        if address in self._names:
            return address
        folded = address.casefold()
        if folded in self._folded:
            return self._folded[folded]
        local, at, domain = folded.rpartition("@")
        base, plus, _ = local.partition("+")
        return self._folded.get(base + at + domain) if base and plus else None

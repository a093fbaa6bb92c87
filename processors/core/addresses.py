"""Who a mail is from, in a form that can be compared and counted.

Owns: reading one address out of a header's text, and when two spellings are the same mailbox.
May not: produce text for an outgoing mail. A local part is case-sensitive where mail is sent
(RFC 5321 2.4); folding is for comparison only, so answers never go to what stands here.
"""

import re
from collections.abc import Iterable
from email.utils import getaddresses
from typing import Final

import msgspec

# RFC 5322 2.1.1: no header line is longer. What is longer is not an address that we answer.
MAX_RAW_CHARS: Final = 998
# RFC 5321 4.5.3.1: 64 for the local part, 255 for the domain, and the sign between them.
MAX_ADDRESS_BYTES: Final = 320
# The parser recurses once a comment; nobody nests this deep in earnest.
MAX_COMMENTS: Final = 20

_ATOM: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+"
_HOST: Final = r"[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*"
# The two forms of nearly all mail, read without the parser, which costs ten times as much.
_BARE: Final = re.compile(rf"({_ATOM})@({_HOST})")
_NAMED: Final = re.compile(rf"[^<>\"(),:;@\\\[\]\x00-\x1f\x7f]*<({_ATOM})@({_HOST})>")

_FOLD: Final = re.compile(r"\r?\n(?=[ \t])")
_FORBIDDEN: Final = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029<>@,;]")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE: Final = re.compile(r"\\(.)")
# A later part of a local part that starts with a digit is a counter: exec-001, exec-00a, case.7.
_COUNTER: Final = re.compile(r"(?<=[^._=-])([._=-]+)[0-9][^._=-]*")


class Address(msgspec.Struct, frozen=True):
    """One address in its comparison form. `domain` is empty where only a local part was given."""

    local: str
    domain: str

    @property
    def key(self) -> str:
        """The address as it was given, but for letter case."""
        return f"{self.local}@{self.domain}"

    @property
    def mailbox(self) -> str:
        """The mailbox behind the address: what stands after a plus sign is only a tag."""
        return f"{_untagged(self.local)}@{self.domain}"

    @property
    def correspondent(self) -> str:
        """Who it counts as in a cap: the mailbox, with counters left out.

        Machines that number their senders (exec-001, exec-002) are one correspondent. A number
        inside a name (jane1984) or at its start is kept: people at one host differ by it.
        """
        return f"{_COUNTER.sub(_replaced, _untagged(self.local))}@{self.domain}"


def parse_address(raw: str | None) -> Address | None:
    """The one address in this text, or None when there is none, or more than one.

    A group, a list, a route and a line break are not one address. Never raises.
    """
    if not raw or len(raw) > MAX_RAW_CHARS:
        return None
    trimmed = raw.strip()
    found = _BARE.fullmatch(trimmed) or _NAMED.fullmatch(trimmed)
    if found is not None:
        return _bounded(found[1], found[2])
    return _parsed(_FOLD.sub("", trimmed))


def own_addresses(inboxes: Iterable[str]) -> frozenset[str]:
    """The comparison keys of our own inboxes. An inbox name need not be an address."""
    parsed = ((name, parse_address(name)) for name in inboxes)
    return frozenset(name.casefold() if each is None else each.key for name, each in parsed)


def is_among(own: frozenset[str], address: Address) -> bool:
    """Whether mail to this address comes to one of our inboxes, plus tags included."""
    return address.key in own or address.mailbox in own


def _parsed(text: str) -> Address | None:
    if text.count("(") > MAX_COMMENTS or text.endswith(";") or "\n" in text or "\r" in text:
        return None
    # An unquoted comma in a display name leaves pieces without an @; they are no addresses.
    found = [address for _, address in getaddresses([text]) if address]
    addresses = [each for each in found if "@" in each] or found
    if len(addresses) != 1:
        return None
    local, _, domain = addresses[0].rpartition("@") if "@" in addresses[0] else (found[0], "", "")
    return _bounded(_unquoted(local), domain)


def _bounded(local: str, domain: str) -> Address | None:
    host = _host(domain)
    if not local or _FORBIDDEN.search(host):
        return None
    folded = Address(local.casefold(), host)
    is_short = len(folded.key.encode("utf-8", "surrogatepass")) <= MAX_ADDRESS_BYTES
    return folded if is_short else None


def _unquoted(local: str) -> str:
    quoted = _QUOTED.fullmatch(local)
    if quoted is not None:
        return _ESCAPE.sub(r"\1", quoted[1])
    return "" if _FORBIDDEN.search(local) else local


def _host(domain: str) -> str:
    folded = domain.casefold().removesuffix(".")
    if folded.isascii():
        return folded
    try:
        return folded.encode("idna").decode("ascii")
    except UnicodeError:
        return folded


def _untagged(local: str) -> str:
    return local.partition("+")[0] or local


def _replaced(counter: re.Match[str]) -> str:
    return f"{counter[1]}#"

import pytest

from processors.core.addresses import Address, is_among, own_addresses, parse_address

ONE = {
    "bare": ("jane@customer.example", "jane@customer.example"),
    "named": ("Jane Roe <jane@customer.example>", "jane@customer.example"),
    "letter case": ("JANE.ROE@Customer.EXAMPLE", "jane.roe@customer.example"),
    "outer space": ("  <jane@customer.example> ", "jane@customer.example"),
    "quoted name": ('"Roe, Jane" <jane@customer.example>', "jane@customer.example"),
    "an address as a name": ('"a@evil.example" <jane@customer.example>', "jane@customer.example"),
    "unquoted comma in a name": ("Roe, Jane <jane@customer.example>", "jane@customer.example"),
    "encoded word": ("=?utf-8?b?SmFuZQ0K?= <jane@customer.example>", "jane@customer.example"),
    "folded": ("Jane\r\n <jane@customer.example>", "jane@customer.example"),
    "comment": ("jane(work)@customer.example", "jane@customer.example"),
    "text after it": ("<jane@customer.example> x", "jane@customer.example"),
    "quoted local part": ('"jane roe"@customer.example', "jane roe@customer.example"),
    "quoted for no reason": ('"jane"@customer.example', "jane@customer.example"),
    "escape in quotes": (r'"ja\ne"@customer.example', "jane@customer.example"),
    "dot at the end": ("jane@customer.example.", "jane@customer.example"),
    "domain literal": ("jane@[192.0.2.1]", "jane@[192.0.2.1]"),
    "other letters": ("jané@customer.example", "jané@customer.example"),
    "international domain": ("jane@bücher.example", "jane@xn--bcher-kva.example"),
    "the same in ascii": ("jane@XN--BCHER-KVA.example", "jane@xn--bcher-kva.example"),
    "domain that idna refuses": (f"jane@{'ü' * 70}.example", f"jane@{'ü' * 70}.example"),
    "local part only": ("MAILER-DAEMON", "mailer-daemon@"),
    "tag": ("jane+shop@customer.example", "jane+shop@customer.example"),
}

NONE = {
    "missing": None,
    "empty": "",
    "blank": "  ",
    "null path": "<>",
    "empty group": "undisclosed-recipients:;",
    "group": "Team: a@x.example, b@x.example;",
    "group of one": "Team: a@x.example;",
    "two": "a@x.example, b@x.example",
    "one before the brackets": "victim@x.example<jane@customer.example>",
    "route": "<@hop.example,@hop2.example:jane@customer.example>",
    "line break": "Jane\r\nBcc: x@evil.example <jane@customer.example>",
    "bare line break": "jane@customer.example\nx",
    "control character": "jane@customer.example\x00",
    "control character before the sign": "ja\x00ne@customer.example",
    "two signs": "a@b@c.example",
    "no local part": "@customer.example",
    "no domain": "jane@",
    "empty quotes": '""@customer.example',
    "unclosed quote": '"unclosed <jane@customer.example>',
    "line separator": "jane@customer.example\u2028x",
    "longer than a line": "a" * 999 + "@customer.example",
    "longer than an address": "a" * 320 + "@customer.example",
    "nested comments": "(" * 900,
}


@pytest.mark.parametrize(("raw", "key"), ONE.values(), ids=ONE.keys())
def test_one_address_is_read_from_whatever_stands_around_it(raw: str, key: str) -> None:
    """Caps and suppression must see one person in all spellings of one address."""
    found = parse_address(raw)

    assert (None if found is None else found.key) == key


@pytest.mark.parametrize("raw", NONE.values(), ids=NONE.keys())
def test_what_is_not_one_address_is_none(raw: str | None) -> None:
    """An answer to a list, or to nobody, is no answer."""
    assert parse_address(raw) is None


def test_mailbox_leaves_the_tag_out() -> None:
    """Plus addresses deliver to the base inbox."""
    assert parse_address("Support+case9@inbox.example") == Address("support+case9", "inbox.example")
    assert Address("support+case9", "inbox.example").mailbox == "support@inbox.example"
    assert Address("+case9", "inbox.example").mailbox == "+case9@inbox.example"


COUNTED = {
    "numbered sender": ("exec-001", "exec-#"),
    "numbered in hexadecimal": ("exec-00a", "exec-#"),
    "several counters": ("case.12.34", "case.#.#"),
    "doubled separator": ("exec--001", "exec--#"),
    "tag": ("jane+a1", "jane"),
    "number in a name": ("jane1984", "jane1984"),
    "number at the start": ("123456", "123456"),
    "name after a separator": ("jane.roe2", "jane.roe2"),
    "separators only": ("_-1", "_-1"),
}


@pytest.mark.parametrize(("local", "counted"), COUNTED.values(), ids=COUNTED.keys())
def test_correspondent_leaves_counters_out_and_keeps_names(local: str, counted: str) -> None:
    """A machine that numbers its senders is one correspondent; people of one host are not."""
    assert Address(local, "crm.example").correspondent == f"{counted}@crm.example"


def test_own_addresses_are_found_in_any_case_and_with_any_tag() -> None:
    """A responder never answers itself, however it is spelled."""
    own = own_addresses(["Support@Inbox.example", "team+eu@inbox.example", "inbox_7"])

    found = {
        raw: is_among(own, address)
        for raw in ("SUPPORT+x@inbox.EXAMPLE", "team+eu@inbox.example", "team@inbox.example")
        if (address := parse_address(raw))
    }

    assert own == {"support@inbox.example", "team+eu@inbox.example", "inbox_7@"}
    assert found == {
        "SUPPORT+x@inbox.EXAMPLE": True,
        "team+eu@inbox.example": True,
        "team@inbox.example": False,
    }

"""The JSON text inside a webhook's body, made readable for a strict parser.

Owns: what is forgiven in a signed body: a byte order mark, and halves of surrogate pairs.
May not: change the body that is kept. Both ends read through here, so both see the same values.
"""

import re
from typing import Final

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

# Escapes from left to right: a whole pair (kept), half of one (replaced), any other (kept). The
# order matters: `\\ud83d` in JSON is a backslash followed by letters, and no surrogate.
_ESCAPE: Final = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|\\.",
    re.DOTALL,
)


def json_text(body: bytes) -> bytes:
    r"""The body's JSON, without a byte order mark and with `\ufffd` for each half surrogate pair.

    RFC 8259 lets a parser ignore the mark (8.1) and allows such halves in its grammar (8.2); they
    come from senders that cut a text in the middle of an emoji. A parser that refuses them would
    refuse a customer's mail. The same bytes come back when there is nothing to forgive.
    """
    text = body.removeprefix(BYTE_ORDER_MARK)
    if b"\\ud" in text or b"\\uD" in text:
        return _ESCAPE.sub(_mended, text)
    return text


def _mended(escape: re.Match[bytes]) -> bytes:
    return rb"\ufffd" if escape.group(2) else escape.group(0)

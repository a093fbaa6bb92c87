"""An account's key at its provider: from the variable that the directory names, or its file.

Owns: where a key comes from, and that it can stand in a header.
May not: keep it. It is looked up for each call, so a key that was changed counts from the next.
"""

from collections.abc import Mapping
from pathlib import Path

from schemas.directory import Account


class NoKey(Exception):
    """The account's variable, and the file that its `_FILE` twin names, hold no usable key."""


def account_key(account: Account, environ: Mapping[str, str]) -> str:
    """The key. Raises NoKey, whose words name the variable and never what it holds."""
    name = account.api_key
    key = environ.get(name, "").strip()
    if not key and (path := environ.get(f"{name}_FILE")):
        try:
            key = Path(path).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise NoKey(f"{name}_FILE cannot be read") from error
    if not key or not key.isascii() or not key.isprintable():
        raise NoKey(f"{name} holds no usable key")
    return key

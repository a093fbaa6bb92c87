"""A token bucket, as a value: how many deliveries a source may still make.

Owns: the arithmetic.
May not: read a clock.
"""

from math import ceil

import msgspec


class Bucket(msgspec.Struct, frozen=True):
    """Tokens that were there at an instant of the steady clock."""

    tokens: float
    at_s: float


def drawn(bucket: Bucket, now_s: float, *, rate: int) -> tuple[Bucket, int]:
    """The bucket after one draw, and 0; or with nothing drawn the whole seconds to the next token.

    Holds one second's worth at most, so a burst is at most twice the rate in any second.
    """
    refilled = bucket.tokens + (now_s - bucket.at_s) * rate
    tokens = min(float(rate), max(0.0, refilled))
    if tokens >= 1:
        return Bucket(tokens - 1, now_s), 0
    return Bucket(tokens, now_s), max(1, ceil((1 - tokens) / rate))

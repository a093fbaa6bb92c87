"""What an installation says about answering: its inboxes, its caps, how long it remembers.

Owns: how settings and the directory become one value for DECIDE.
May not: read either; both come checked.
"""

import msgspec

from processors.core.addresses import own_addresses
from processors.core.caps import CAP_CORRESPONDENT, CAP_DOMAIN, CAP_INBOX, CAP_THREAD, Cap
from processors.core.decide_rows import DAY_MS, HOUR_MS, SLACK_MS
from schemas.directory import Directory
from schemas.settings import Settings


class Caps(msgspec.Struct, frozen=True, kw_only=True):
    """The four caps. Each counts within an inbox: another inbox has its own."""

    thread: Cap
    correspondent: Cap
    domain: Cap
    inbox: Cap


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What the installation says: its inboxes, its caps, and how long identities are kept."""

    directory: Directory
    own: frozenset[str]
    caps: Caps
    horizon_ms: int
    keep_ms: int


def policy_of(settings: Settings, directory: Directory) -> Policy:
    """The policy that these settings and this directory amount to."""
    horizon_ms = settings.identity_horizon_s * 1000
    return Policy(
        directory=directory,
        own=own_addresses(directory.inboxes),
        caps=Caps(
            thread=Cap(name=CAP_THREAD, limit=settings.cap_thread_hour, window_ms=HOUR_MS),
            correspondent=Cap(
                name=CAP_CORRESPONDENT, limit=settings.cap_correspondent_day, window_ms=DAY_MS
            ),
            domain=Cap(name=CAP_DOMAIN, limit=settings.cap_domain_day, window_ms=DAY_MS),
            inbox=Cap(name=CAP_INBOX, limit=settings.cap_inbox_hour, window_ms=HOUR_MS),
        ),
        horizon_ms=horizon_ms,
        keep_ms=horizon_ms + SLACK_MS,
    )

"""Who may speak: one module a scheme, found by the name that a source gives.

Owns: the list of schemes. A scheme that is not here cannot be configured.
May not: let any error but SignatureRejected, Errand and BadSecret out.
"""

from collections.abc import Mapping
from typing import Final

from ingest.signatures import (
    agentdraft,
    basic,
    generic,
    hookdeck,
    mailgun,
    sendgrid,
    sns,
    svix,
)
from ingest.signatures.scheme import (
    PATH,
    BadSecret,
    Errand,
    Headers,
    Held,
    PartsVerifier,
    Proves,
    Scheme,
    SignatureRejected,
    Verifier,
)

SCHEMES: Final[Mapping[str, Scheme]] = {
    "svix": svix.SCHEME,
    "agentdraft": agentdraft.SCHEME,
    "hookdeck": hookdeck.SCHEME,
    "hmac": generic.SCHEME,
    "sns": sns.SCHEME,
    "mailgun": mailgun.SCHEME,
    "sendgrid": sendgrid.SCHEME,
    "basic": basic.SCHEME,
}

__all__ = [
    "PATH",
    "SCHEMES",
    "BadSecret",
    "Errand",
    "Headers",
    "Held",
    "PartsVerifier",
    "Proves",
    "Scheme",
    "SignatureRejected",
    "Verifier",
]

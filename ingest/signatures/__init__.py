"""Who may speak: one module a scheme, found by the name that a source gives.

Owns: the list of schemes. A scheme that is not here cannot be configured.
May not: let any error but SignatureRejected and BadSecret out.
"""

from collections.abc import Mapping
from typing import Final

from ingest.signatures import svix
from ingest.signatures.scheme import BadSecret, Headers, Scheme, SignatureRejected, Verifier

SCHEMES: Final[Mapping[str, Scheme]] = {"svix": svix.SCHEME}

__all__ = ["SCHEMES", "BadSecret", "Headers", "Scheme", "SignatureRejected", "Verifier"]

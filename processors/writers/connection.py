"""How Faust's client reaches the cluster: our librdkafka options in its words.

Owns: the translation, and that no security option is dropped in silence.
May not: open a connection.
"""

import ssl
from typing import Any, Final

from faust import SASLCredentials, SSLCredentials
from yarl import URL

from schemas.cluster import LOCAL_BOOTSTRAP
from schemas.errors import SettingsError
from schemas.settings import Settings

Credentials = SASLCredentials | SSLCredentials | None

PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
# Options that decide who we are and whom we trust. Others tune librdkafka and mean nothing here.
_GUARDED: Final = ("security.", "sasl.", "ssl.", "enable.ssl.", "enable.sasl.")
_KNOWN: Final = frozenset(
    {
        "security.protocol",
        "sasl.mechanism",
        "sasl.mechanisms",
        "sasl.username",
        "sasl.password",
        "ssl.ca.location",
        "ssl.certificate.location",
        "ssl.key.location",
        "ssl.key.password",
    }
)


def brokers(settings: Settings) -> list[URL]:
    """The bootstrap servers as Faust wants them."""
    servers = settings.bootstrap_servers or LOCAL_BOOTSTRAP
    return [URL(f"kafka://{server.strip()}") for server in servers.split(",") if server.strip()]


def credentials(settings: Settings) -> Credentials:
    """Who we are to the cluster. Raises SettingsError for what cannot be translated."""
    options = settings.kafka_options
    protocol = options.get("security.protocol", "PLAINTEXT").upper()
    mechanism = options.get("sasl.mechanism", options.get("sasl.mechanisms", "PLAIN")).upper()
    if problems := [*_unknown(options), *_unusable(protocol, mechanism)]:
        raise SettingsError([f"ONEREPLY_KAFKA_OPTIONS: {problem}" for problem in problems])
    context = _trust(options) if protocol.endswith("SSL") else None
    if protocol.startswith("SASL"):
        return SASLCredentials(
            mechanism=mechanism,
            username=options.get("sasl.username", ""),
            password=options.get("sasl.password", ""),
            ssl_context=context,
        )
    return None if context is None else SSLCredentials(context)


def _unknown(options: dict[str, str]) -> list[str]:
    return [
        f"{name} is not known to the writer's client"
        for name in options
        if name.startswith(_GUARDED) and name not in _KNOWN
    ]


def _unusable(protocol: str, mechanism: str) -> list[str]:
    rules = (
        (protocol in PROTOCOLS, f"security.protocol is one of {', '.join(PROTOCOLS)}"),
        (
            not protocol.startswith("SASL") or mechanism in MECHANISMS,
            f"sasl.mechanism is one of {', '.join(MECHANISMS)} for the writer's client",
        ),
    )
    return [sentence for is_kept, sentence in rules if not is_kept]


def _trust(options: dict[str, Any]) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=options.get("ssl.ca.location"))
        if certificate := options.get("ssl.certificate.location"):
            context.load_cert_chain(
                certificate, options.get("ssl.key.location"), options.get("ssl.key.password")
            )
    except OSError as error:
        raise SettingsError([f"ONEREPLY_KAFKA_OPTIONS: {error}"]) from error
    return context

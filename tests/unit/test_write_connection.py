from typing import Any

import pytest
from faust import SASLCredentials, SSLCredentials
from yarl import URL

from processors.writers.connection import brokers, credentials
from processors.writers.faust_options import faust_options
from schemas.errors import SettingsError
from schemas.settings import Settings, load_settings

SASL = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.username": "writer",
    "sasl.password": "a secret for tests only",
}


def settings_with(**options: str) -> Settings:
    """Settings with these client options."""
    return load_settings(kafka_options=options)


def test_every_bootstrap_server_is_an_address() -> None:
    """One that is away must not keep us out."""
    settings = load_settings(bootstrap_servers="a:9092, b:9093,")

    assert brokers(settings) == [URL("kafka://a:9092"), URL("kafka://b:9093")]


def test_without_servers_the_local_broker_is_meant() -> None:
    """As for every other process."""
    assert brokers(load_settings()) == [URL("kafka://127.0.0.1:9092")]


def test_a_plain_connection_needs_no_credentials() -> None:
    """Options that tune librdkafka mean nothing to this client."""
    assert credentials(settings_with(**{"socket.keepalive.enable": "true"})) is None


def test_a_password_goes_over_tls_when_told() -> None:
    """Without TLS it would be read on the way."""
    found = credentials(settings_with(**SASL))

    assert isinstance(found, SASLCredentials)
    assert (found.username, found.password) == ("writer", "a secret for tests only")
    assert (found.mechanism.value, found.protocol.value) == ("SCRAM-SHA-512", "SASL_SSL")
    assert found.ssl_context is not None


def test_a_password_in_the_clear_must_be_asked_for() -> None:
    """Some clusters live behind a mesh that encrypts."""
    found = credentials(settings_with(**SASL | {"security.protocol": "sasl_plaintext"}))

    assert isinstance(found, SASLCredentials)
    assert (found.protocol.value, found.ssl_context) == ("SASL_PLAINTEXT", None)


def test_tls_checks_the_broker() -> None:
    """An address alone proves nothing."""
    found = credentials(settings_with(**{"security.protocol": "SSL"}))

    assert isinstance(found, SSLCredentials)
    assert found.context.check_hostname


REFUSED = {
    "another protocol": (
        {"security.protocol": "TLS"},
        "security.protocol is one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL",
    ),
    "another mechanism": (
        SASL | {"sasl.mechanism": "GSSAPI"},
        "sasl.mechanism is one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 for the writer's client",
    ),
    "an option that would be dropped": (
        SASL | {"ssl.cipher.suites": "x"},
        "ssl.cipher.suites is not known to the writer's client",
    ),
    "a switched-off check": (
        {"enable.ssl.certificate.verification": "false"},
        "enable.ssl.certificate.verification is not known to the writer's client",
    ),
    "a file that is not there": (
        {"security.protocol": "SSL", "ssl.ca.location": "/no/such/file"},
        "[Errno 2] No such file or directory",
    ),
}


@pytest.mark.parametrize(("options", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_security_that_cannot_be_kept_is_refused(options: dict[str, str], sentence: str) -> None:
    """A connection that is less safe than was asked for is worse than none."""
    with pytest.raises(SettingsError) as refused:
        credentials(load_settings(kafka_options=options))

    assert str(refused.value) == f"ONEREPLY_KAFKA_OPTIONS: {sentence}"


def test_faust_is_told_to_leave_nothing_behind() -> None:
    """No topic, no table, no port, no file where the user stands."""
    options: dict[str, Any] = faust_options(load_settings(topic_prefix="p-", data_dir="/data"))

    names = ("id", "topic_allow_declare", "topic_disable_leader", "web_enabled", "store", "env")
    assert [options[name] for name in names] == ["p-write", False, True, False, "memory://", {}]
    assert str(options["datadir"]) == "/data/write"

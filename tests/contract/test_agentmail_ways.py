"""The ways to a provider: proxies of the environment, and whom a certificate makes us trust."""

import asyncio
import datetime as dt
import ipaddress
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from processors.core.outcomes import Answer, Failure
from tests.contract.agentmail_calls import DEADLINE_S, ODD_IDS, a_post, open_gate, post
from tests.contract.wire import Wire, calling, listening, response, saying

ACCEPTED = Answer(status=200, message_id="<r@x.example>", thread_id="thd")
OUTSIDE = "http://api.mail.example"
# Nothing listens there: port 1 is not for programs like these.
NOWHERE = "http://127.0.0.1:1"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's own proxies are not meant."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize("name", ["http_proxy", "all_proxy"])
@pytest.mark.parametrize("message_id", [ODD_IDS[2], ODD_IDS[6]])
def test_proxy_of_the_environment_is_for_the_world_outside(
    monkeypatch: pytest.MonkeyPatch, name: str, message_id: str
) -> None:
    """It gets the whole address, as it was built."""
    call = a_post(message_id)

    async def made() -> tuple[Answer, Wire]:
        async with listening(saying(response())) as wire, calling(OUTSIDE) as client:
            monkeypatch.setenv(name, wire.url)
            return await client.post(call, guard=open_gate, timeout_s=DEADLINE_S), wire

    answer, wire = asyncio.run(made())

    assert (answer, wire.requests[0].target) == (ACCEPTED, f"{OUTSIDE}{call.request.path}")


def test_proxy_of_the_environment_is_not_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in provider is reached where it is."""
    monkeypatch.setenv("http_proxy", NOWHERE)

    async def made() -> Answer:
        async with listening(saying(response())) as wire, calling(wire.url) as client:
            return await client.post(a_post(), guard=open_gate, timeout_s=DEADLINE_S)

    assert asyncio.run(made()) == ACCEPTED


def test_host_that_is_spared_the_proxy_is_called_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """As NO_PROXY says; no such host, so nothing is reached."""

    async def made() -> tuple[Answer, list[int]]:
        async with listening(saying(response())) as wire, calling("http://mail.invalid") as client:
            monkeypatch.setenv("http_proxy", wire.url)
            monkeypatch.setenv("no_proxy", "mail.invalid")
            answer = await client.post(a_post(), guard=open_gate, timeout_s=DEADLINE_S)
            return answer, wire.received

    assert asyncio.run(made()) == (Answer(failure=Failure.UNREACHED), [])


def test_proxy_that_opens_no_way_leaves_us_unreached(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was asked for a way through, and not one byte of the request was said to it."""

    async def made() -> tuple[Answer, Wire]:
        refusing = saying(response(b"", status=403))
        async with listening(refusing) as wire, calling("https://api.mail.example") as client:
            monkeypatch.setenv("https_proxy", wire.url)
            return await client.post(a_post(), guard=open_gate, timeout_s=DEADLINE_S), wire

    answer, wire = asyncio.run(made())

    assert answer == Answer(failure=Failure.UNREACHED)
    assert [each.line for each in wire.requests] == ["CONNECT api.mail.example:443 HTTP/1.1"]


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "http://"])
def test_proxy_that_we_cannot_speak_to_makes_no_call(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    """Somebody has to mend it."""
    monkeypatch.setenv("http_proxy", proxy)

    assert post(OUTSIDE, a_post()) == [Answer(failure=Failure.UNCONFIGURED)]


def test_proxy_that_does_not_listen_is_not_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """No byte left us."""
    monkeypatch.setenv("http_proxy", NOWHERE)

    assert post(OUTSIDE, a_post()) == [Answer(failure=Failure.UNREACHED)]


def test_provider_whose_certificate_is_trusted_is_called(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """SSL_CERT_FILE names whom this machine trusts."""
    tls = certified(tmp_path, host="127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate"))

    answers, wire = asyncio.run(posted_twice(tls))

    assert (answers, len(wire.received)) == ([ACCEPTED, ACCEPTED], 1)


def test_provider_whose_certificate_is_not_trusted_hears_nothing(tmp_path: Path) -> None:
    """The key and the mail are not for whoever took its place."""
    answers, wire = asyncio.run(posted_twice(certified(tmp_path, host="127.0.0.1")))

    unreached = Answer(failure=Failure.UNREACHED)
    assert (answers, wire.requests, set(wire.received)) == ([unreached] * 2, [], set())


def test_provider_with_the_certificate_of_another_hears_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is trusted, as somebody else."""
    tls = certified(tmp_path, host="127.0.0.2")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate"))

    answers, wire = asyncio.run(posted_twice(tls))

    assert (answers, wire.requests) == ([Answer(failure=Failure.UNREACHED)] * 2, [])


async def posted_twice(tls: ssl.SSLContext) -> tuple[list[Answer], Wire]:
    """What two posts to a provider with this certificate come to."""
    async with listening(saying(response()), tls=tls) as wire, calling(wire.url) as client:
        answers = [
            await client.post(a_post(), guard=open_gate, timeout_s=DEADLINE_S) for _ in range(2)
        ]
    return answers, wire


def certified(folder: Path, *, host: str) -> ssl.SSLContext:
    """A server's side, with a certificate for that host that vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "provider")])
    now = dt.datetime.now(dt.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "certificate").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate", folder / "key")
    return context

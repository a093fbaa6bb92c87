"""A proxy that opens TLS itself, as a company's own does, with a certificate that nobody trusts."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

DEADLINE_S = 10.0


@contextmanager
def intercepting_proxy(folder: Path) -> Iterator[str]:
    """The proxy's address. Its certificate is made in the folder."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_own_certificate(folder))
    with socket.create_server(("127.0.0.1", 0)) as server:
        accepting = threading.Thread(target=_accept, args=(server, context))
        accepting.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            # Wakes the thread that accepts, which a close alone does not.
            server.shutdown(socket.SHUT_RDWR)
            accepting.join()


def _accept(server: socket.socket, context: ssl.SSLContext) -> None:
    with suppress(OSError):
        while True:
            line, _ = server.accept()
            _intercept(line, context)


def _intercept(line: socket.socket, context: ssl.SSLContext) -> None:
    line.settimeout(DEADLINE_S)
    with line, suppress(OSError):
        asked = b""
        while not asked.endswith(b"\r\n\r\n"):
            chunk = line.recv(4096)
            if not chunk:
                return
            asked += chunk
        line.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with context.wrap_socket(line, server_side=True) as inside:
            inside.recv(1)


def _own_certificate(folder: Path) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "nobody")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, SHA256())
    )
    path = folder / "nobody.pem"
    path.write_bytes(
        certificate.public_bytes(Encoding.PEM)
        + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    return path

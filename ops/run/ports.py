"""Whether a port is free to listen on, and the sentence when it is not.

Owns: the sentence.
May not: hold the port; between the look and the bind another may take it.
"""

from ingest.server import bound_socket
from schemas.errors import Transient


def require_free(host: str, port: int, *, option: str) -> None:
    """Return when the port is free. Raises Transient."""
    try:
        bound_socket(host, port).close()
    except OSError as error:
        raise Transient(
            f"Port {port} on {host}: {(error.strerror or str(error)).lower()}. "
            f"Stop what listens there, or name another port with {option}."
        ) from error

"""A virtual environment for Quix Streams, which does not go together with this project's packages.

Owns: .onereply/peers/quix, made when it is first needed.
"""

import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

from tests.bench.running import PeerAbsent

FOLDER: Final = Path(".onereply/peers/quix")
# It asks for a confluent-kafka below ours, so beside ours pip would choose a version years old.
PACKAGE: Final = "quixstreams==3.28.1"
INSTALL_DEADLINE_S: Final = 600


def quix_python() -> Path:
    """The Python of that environment. Raises PeerAbsent where its packages cannot be had."""
    python = FOLDER / "bin" / "python"
    stamp = FOLDER / PACKAGE
    if stamp.exists():
        return python
    install = [str(python), "-m", "pip", "install", "--quiet", PACKAGE]
    try:
        venv.create(FOLDER, with_pip=True, clear=True)
        subprocess.run(install, check=True, timeout=INSTALL_DEADLINE_S, stdout=sys.stderr)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise PeerAbsent(f"{PACKAGE} cannot be installed") from error
    stamp.touch()
    return python

"""Runs ops/bootstrap.py with a Python that can: the one that make names, else that of .venv.

Owns: the sentence for a Python that is too old.
May not: import anything but the standard library, or use syntax that an old Python cannot read.
"""

import os
import shutil
import sys
from pathlib import Path

OLDEST = (3, 11)
NEWER = ("python3.11", "python3.12", "python3.13", "python3.14")
TOO_OLD = (
    "OneReply needs Python 3.11 or newer, and {executable} is {version}. {remedy}: "
    "make setup PYTHON={name}\nAfter that, plain make commands use .venv's own."
)


def main(root: Path) -> int:
    """Become bootstrap in a Python that is new enough, or say what to type; the exit code."""
    if sys.version_info >= OLDEST:
        become(sys.executable, root / "ops" / "bootstrap.py")
    environment = root / ".venv"
    python = environment / "bin" / "python"
    if os.access(str(python), os.X_OK) and Path(sys.prefix) != environment:
        # It was made by a newer one. If not, it comes back to here and is told so.
        become(str(python), root / "ops" / "find_python.py")
    found = [name for name in NEWER if shutil.which(name)]
    told = TOO_OLD.format(
        executable=sys.executable,
        version="{}.{}".format(*sys.version_info[:2]),
        remedy="Type" if found else "Install one, and type",
        name=(found or NEWER)[0],
    )
    sys.stderr.write(told + "\n")
    return 1


def become(python: str, script: Path) -> None:
    """Go on as this script in this Python; does not return."""
    os.execv(python, [python, str(script)])  # noqa: S606  # both are named by the user or ours


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parents[1]))

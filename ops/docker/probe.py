"""`python -m ops.docker.probe URL`: whether a process in this container answers.

Owns: the health check of an image that has no other HTTP client. Exit code 0: a 2xx. 1: not.
May not: wait longer than a health check may take.
"""

import sys
from typing import Final

import httpx

DEADLINE_S: Final = 4.0


def is_well(url: str) -> bool:
    """Whether it answers with a 2xx."""
    try:
        return httpx.get(url, timeout=DEADLINE_S, trust_env=False).is_success
    except httpx.HTTPError:
        return False


if __name__ == "__main__":
    sys.exit(0 if is_well(sys.argv[1]) else 1)

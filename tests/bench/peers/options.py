"""What every peer is told, and how it ends: with the right counts, or with exit code 1."""

import argparse
import json
import sys


def told() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser()
    for name in ("servers", "input", "output", "state"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("events", "unique"):
        parser.add_argument(f"--{name}", required=True, type=int)
    parser.add_argument("--guarantee", default="at-least-once")
    return parser.parse_args()


def finish(options: argparse.Namespace, *, events: int, passed: int) -> int:
    """The exit code: 0 when all events were read and each key passed once."""
    sys.stdout.write(json.dumps({"events": events, "passed": passed}) + "\n")
    return 0 if (events, passed) == (options.events, options.unique) else 1

"""Runs one stage in this process: `python -m processors STAGE`.

Exit codes: 0 stopped, 1 the cluster is not ours to use or a bug, 2 settings, 3 something is away,
4 another process has this worker's name, 5 records are missing and a person must decide.
"""

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Final

from processors.runtime.failures import Fenced
from processors.runtime.memory import keep_little_memory
from processors.runtime.offsets import OffsetGone
from processors.runtime.stage import Stage
from processors.runtime.steps import steps_from
from processors.runtime.worker import Worker
from processors.starting import once_answered, options_checked
from schemas.directory import Directory, parse_directory
from schemas.errors import ClusterMismatch, OneReplyError, SettingsError, Transient
from schemas.logs import setup_logging
from schemas.settings import Settings, load_settings
from schemas.startup import wait_for_cluster
from schemas.variables import unknown_variables

LOG = logging.getLogger("processors")

STAGES: Final = ("dedupe", "fetch", "reorder", "decide", "send")
EXIT_CODES: Final[dict[type[OneReplyError], int]] = {
    ClusterMismatch: 1,
    SettingsError: 2,
    Transient: 3,
    Fenced: 4,
    OffsetGone: 5,
}


def main(arguments: list[str]) -> int:
    """Run the stage that the arguments name, until SIGTERM or SIGINT; the exit code."""
    if len(arguments) != 1 or arguments[0] not in (*STAGES, "write"):
        sys.stderr.write(f"usage: python -m processors {'|'.join(STAGES)}|write\n")
        return 2
    setup_logging(arguments[0])
    try:
        return run(arguments[0])
    except OneReplyError as error:
        for line in str(error).splitlines():
            LOG.error("stage stopped", extra={"stage": arguments[0], "reason": line})  # noqa: TRY400  # the sentence says it; a trace would not
        return next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 1)


def run(name: str) -> int:
    """Run one stage with the settings of this environment. Raises OneReplyError."""
    keep_little_memory()
    settings = load_settings()
    directory = read_directory(settings)
    for line in unknown_variables(os.environ, directory):
        LOG.warning("variable ignored", extra={"reason": line})
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    with options_checked():
        wait_for_cluster(settings, stopping)
    if stopping.is_set():
        return 0
    if name == "write":
        result: int = import_module("processors.write").run(settings, directory, stopping.is_set)
        return result
    build: Callable[[Settings, Directory], Stage] = import_module(f"processors.{name}").build
    steps = steps_from(os.environ.get("ONEREPLY_HALT_AT"))
    stage = build(settings, directory)
    with options_checked():
        worker = once_answered(lambda: Worker(stage, settings, steps), stopping)
    if worker is not None:
        worker.run(stopping.is_set)
    LOG.info("stage stopped", extra={"stage": name, "reason": "told to"})
    return 0


def read_directory(settings: Settings) -> Directory:
    """The sources, inboxes and accounts of this installation. Raises SettingsError."""
    try:
        return parse_directory(Path(settings.config_file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError([f"ONEREPLY_CONFIG_FILE: {error}"]) from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`python -m ops.docker.link URL`: in containers, what `onereply run` does for the stand-in there.

It opens the inboxes, registers the webhooks, and leaves run.json for `onereply send-test`.

Owns: the folder's lock while it runs, so that `onereply send-test` finds where everything listens.
May not: start or watch a process; Compose does.
"""

import logging
import os
import signal
import sys
from pathlib import Path
from typing import Final

from ops.run.directory import hooks_of, read_directory, served_by
from ops.run.folder import Folder, Running
from ops.run.provider import Provider
from schemas.errors import OneReplyError
from schemas.logs import setup_logging
from schemas.settings import Settings, load_settings

LOG = logging.getLogger("ops.docker")

API_KEY: Final = "AGENTMAIL_API_KEY"


def main(provider: str) -> int:
    """Tell the stand-in, then wait for SIGTERM; the exit code."""
    setup_logging("link")
    # Blocked before anything starts, so that a stop that comes early is not lost.
    stops = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    try:
        settings = load_settings()
        folder = Folder(Path(settings.data_dir))
        with folder.alone():
            folder.tell_running(_told(settings, provider))
            LOG.info("stand-in told", extra={"provider": provider})
            signal.sigwait(stops)
            folder.forget_running()
    except OneReplyError as error:
        LOG.error("stand-in not told", extra={"reason": str(error)})  # noqa: TRY400  # the sentence says it
        return 1
    return 0


def _told(settings: Settings, url: str) -> Running:
    """Where everything listens, once the stand-in knows its inboxes and webhooks."""
    directory = read_directory(Path(settings.config_file))
    served = served_by(directory, url)
    door = f"http://127.0.0.1:{settings.listen_port}"
    with Provider(url) as provider:
        provider.open_inboxes(tuple(served.inboxes))
        hooks = hooks_of(directory, served, environ=os.environ)
        provider.have_webhooks(hooks, door=door, api_key=os.environ.get(API_KEY, ""))
    return Running(
        pid=os.getpid(),
        door=door,
        provider=url,
        bootstrap_servers=settings.bootstrap_servers,
        topic_prefix=settings.topic_prefix,
        partitions=settings.partitions,
        inboxes=dict(served.inboxes),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

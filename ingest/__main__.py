"""`python -m ingest`: the door as a process.

Owns: the wiring, the exit codes, and the sentences for what keeps the door shut.
Exit codes: 0 stopped as told, 1 failed, 2 settings to mend, 3 no broker.
"""

import asyncio
import logging
import os
import sys
from datetime import timedelta
from functools import partial
from pathlib import Path
from socket import socket
from threading import Event
from typing import Final

import uvloop

from ingest.app import create_app
from ingest.body import Reader, Room, spool_in
from ingest.ending import ConnectionLimits
from ingest.endpoint import Clock, Door, Means
from ingest.health import Health
from ingest.large import Keep, LargeBodies
from ingest.metrics import UNKNOWN, Metrics
from ingest.publisher import Publisher
from ingest.server import DoorServer, bound_socket, room_for
from ingest.sources import OpenSource, OpenSources, open_sources
from schemas.blobs import folder_in, store_of
from schemas.cluster import cluster_id_of, producer_config
from schemas.directory import parse_directory
from schemas.errors import ClusterMismatch, SettingsError, Transient
from schemas.logs import setup_logging
from schemas.settings import Settings, load_settings
from schemas.startup import wait_for_cluster
from schemas.topics import Topic
from schemas.variables import unknown_variables

# A sender keeps its connection between two deliveries: as many again may be idle.
IDLE_TOO: Final = 2
# A minute of that spares most handshakes.
KEEP_ALIVE: Final = timedelta(minutes=1)

log = logging.getLogger("ingest")


def main() -> int:
    """Open the door and keep it open until told to stop; the process's exit code."""
    setup_logging("ingest")
    try:
        settings = load_settings()
        directory = parse_directory(_config_text(settings))
        sources = open_sources(directory, os.environ)
        store = store_of(settings)
    except SettingsError as error:
        return _shut(2, *error.problems)
    for line in unknown_variables(os.environ, directory):
        log.warning("variable ignored", extra={"reason": line})
    try:
        sock = bound_socket(settings.listen_host, settings.listen_port)
    except OSError as error:
        where = f"{settings.listen_host}:{settings.listen_port}"
        return _shut(1, f"{where} cannot be opened: {error.strerror}; set ONEREPLY_LISTEN_PORT")
    with sock:
        try:
            wait_for_cluster(settings, Event())
            folder = folder_in(settings, cluster_id_of(settings))
        except ClusterMismatch as error:
            return _shut(1, *error.differences)
        except Transient as error:
            return _shut(3, str(error))
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(
                _serve(settings, sources, sock, keep=Keep(store=store, folder=folder))
            )


async def _serve(
    settings: Settings, sources: dict[str, OpenSource], sock: socket, *, keep: Keep
) -> int:
    deadline = timedelta(milliseconds=settings.publish_deadline_ms)
    body_deadline = timedelta(milliseconds=settings.body_deadline_ms)
    publisher = Publisher(
        producer_config(settings),
        topic=settings.shape().name(Topic.INBOUND_EVENTS),
        deadline=deadline,
    )
    clock, metrics = Clock(), Metrics()
    large = LargeBodies(keep, deadline=timedelta(milliseconds=settings.blob_deadline_ms))
    means = _means(settings, publisher, large)
    door = Door(OpenSources(sources), means, clock=clock, metrics=metrics)
    metrics.watch("body_bytes", "Bytes of bodies in memory.", read=means.reader.room.taken)
    metrics.watch("in_hand", "Deliveries being worked on.", read=door.in_hand)
    metrics.watch("waiting_records", "Records without the broker's word.", read=publisher.waiting)
    health = Health(publisher.is_reachable, metrics=metrics, steady_s=clock.steady_s)
    server = DoorServer(
        create_app(door, health, metrics),
        sock,
        limits=_connection_limits(settings),
        count=partial(metrics.settled, UNKNOWN),
        grace=body_deadline + deadline,
    )
    metrics.watch("connections", "Open connections.", read=server.connections)

    stopper = asyncio.create_task(_stop_on_failure(publisher, server))
    await server.run_until_stopped()  # the answers in hand are out when this returns
    stopper.cancel()
    large.close()
    unacked = await publisher.close(deadline)
    log.info("door closed", extra={"unacked_records": unacked})
    return 1 if publisher.failed.is_set() else 0


def _means(settings: Settings, publisher: Publisher, large: LargeBodies) -> Means:
    reader = Reader(
        limit_bytes=settings.max_body_bytes,
        deadline=timedelta(milliseconds=settings.body_deadline_ms),
        room=Room(settings.body_memory_bytes),
        open_file=spool_in(Path(settings.data_dir) / "spool"),
    )
    return Means(
        reader=reader,
        large=large,
        publish=publisher.publish,
        in_hand=settings.max_concurrent_requests,
    )


def _connection_limits(settings: Settings) -> ConnectionLimits:
    return ConnectionLimits(
        connections=room_for(IDLE_TOO * settings.max_concurrent_requests),
        patience=timedelta(milliseconds=settings.body_deadline_ms),
        idle=KEEP_ALIVE,
    )


async def _stop_on_failure(publisher: Publisher, server: DoorServer) -> None:
    await publisher.failed.wait()
    server.stop()


def _config_text(settings: Settings) -> str:
    path = Path(settings.config_file)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SettingsError(
            [f"{path} cannot be read: {why}; ONEREPLY_CONFIG_FILE names the file with the sources"]
        ) from error


def _shut(code: int, *problems: str) -> int:
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())

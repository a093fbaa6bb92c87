"""`onereply run`: everything on this machine, until Ctrl-C.

Owns: options, words and exit codes of the command, and the order of its end.
May not: know how a part is run.
"""

import os
import time
from pathlib import Path
from typing import Any, Final

import click

from ops.kafka.cluster import running
from ops.kafka.command import DEFAULT_PORT as KAFKA_PORT
from ops.kafka.properties import HOST
from ops.kafka.room import require_room
from ops.run.broker import Broker, GivenBroker, OwnBroker, wait_for_left_over
from ops.run.directory import standin_directory
from ops.run.ending import one_sentence
from ops.run.folder import End, Folder, Running
from ops.run.interrupts import Interrupted, interruptible
from ops.run.pipeline import Pipeline
from ops.run.plan import Plan
from ops.run.ports import Port, require_ports
from ops.run.screen import Screen
from ops.run.supervisor import Supervisor
from ops.run.welcome import welcome
from ops.run.written import require_same_partitions
from schemas.settings import Settings, load_settings
from schemas.variables import unknown_variables

PROVIDER_PORT: Final = 8090


@click.command()
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for all that is kept. [env var: ONEREPLY_DATA_DIR; default: .onereply]",
)
@click.option(
    "--door-port",
    type=click.IntRange(1, 65_535),
    help="Port of the door. [env var: ONEREPLY_LISTEN_PORT; default: 8080]",
)
@click.option(
    "--provider-port",
    type=click.IntRange(1, 65_535),
    default=PROVIDER_PORT,
    envvar="ONEREPLY_PROVIDER_PORT",
    show_envvar=True,
    show_default=True,
    help="Port of the stand-in provider.",
)
@click.option(
    "--kafka-port",
    type=click.IntRange(1, 65_535),
    default=KAFKA_PORT,
    envvar="ONEREPLY_KAFKA_PORT",
    show_envvar=True,
    show_default=True,
    help="Port of the local Kafka.",
)
def run(**options: Any) -> None:
    """Start everything on this machine and keep it going until Ctrl-C.

    Kafka, ingest, dedupe, fetch, reorder, decide, write, send and a stand-in mail provider. With
    ONEREPLY_BOOTSTRAP_SERVERS set, that Kafka is used. With an onereply.toml of yours, its sources
    and inboxes are used; otherwise one for the stand-in is written into the data folder, which
    takes about 150 MB at first; with less than 300 MB free nothing starts.

    Exit code 0: stopped as told. 2: settings to mend. 3: a port, the network, the disk.
    """
    settings = _settings(options)
    folder = Folder(Path(settings.data_dir))
    with Screen() as screen, interruptible(), one_sentence(folder.data_dir):
        try:
            with folder.alone() as last_end:
                if last_end is End.KILLED:
                    screen.show("waiting for Kafka of the last run to end")
                    wait_for_left_over(folder.data_dir)
                _run(folder, settings, screen, options=options)
        except Interrupted:
            screen.say("Stopped.")


def _settings(options: dict[str, Any]) -> Settings:
    with one_sentence(Path()):
        found = load_settings(**_given(options))
    data_dir = Path(found.data_dir).absolute()
    theirs = Path(found.config_file).absolute()
    config = theirs if theirs.exists() or _is_named(found) else Folder(data_dir).config
    # One broker holds one copy, whatever was set for a cluster.
    durability = found.durability if found.bootstrap_servers else "single-node"
    return found.model_copy(
        update={
            "data_dir": str(data_dir),
            "config_file": str(config),
            "durability": durability,
            "listen_port": found.listen_port,
            "listen_host": found.listen_host,
        }
    )


def _given(options: dict[str, Any]) -> dict[str, object]:
    named = {"data_dir": options["data_dir"], "listen_port": options["door_port"]}
    return {name: str(value) for name, value in named.items() if value is not None}


def _is_named(settings: Settings) -> bool:
    """Whether the user has named a file. One that is named and missing is said, not replaced."""
    return "config_file" in settings.model_fields_set


def _run(folder: Folder, settings: Settings, screen: Screen, *, options: dict[str, Any]) -> None:
    began = time.monotonic()
    require_room(folder.data_dir)
    plan = Plan(
        folder=folder,
        settings=settings,
        broker=_broker(folder, settings, screen, port=options["kafka_port"]),
        provider_port=options["provider_port"],
        environ=os.environ,
    )
    if plan.config == folder.config:
        folder.config.write_text(standin_directory(plan.provider), encoding="utf-8")
    require_ports(_ports(plan, options["kafka_port"]))
    if not settings.bootstrap_servers:
        require_same_partitions(settings)
    screen.say("OneReply is starting.")
    pipeline = Pipeline(plan, screen)
    for line in unknown_variables(os.environ, pipeline.directory):
        screen.say(f"Warning: {line}")
    try:
        pipeline.start()
        screen.calm()
        folder.tell_running(_running(pipeline))
        screen.say(welcome(pipeline, seconds=time.monotonic() - began))
        Supervisor(pipeline, screen).watch()
    finally:
        folder.forget_running()
        _stop(pipeline, screen)


def _broker(folder: Folder, settings: Settings, screen: Screen, *, port: int) -> Broker:
    if settings.bootstrap_servers:
        return GivenBroker(settings.bootstrap_servers)
    return OwnBroker(folder.data_dir, port=port, install_dir=folder.data_dir, teller=screen)


def _ports(plan: Plan, kafka_port: int) -> list[Port]:
    door = Port(
        plan.settings.listen_host, plan.settings.listen_port, "ONEREPLY_LISTEN_PORT", "--door-port"
    )
    provider = Port(HOST, plan.provider_port, "ONEREPLY_PROVIDER_PORT", "--provider-port")
    # A Kafka that runs in the folder holds its port rightly: it is used.
    if plan.settings.bootstrap_servers or running(plan.folder.data_dir):
        return [door, provider]
    return [door, provider, Port(HOST, kafka_port, "ONEREPLY_KAFKA_PORT", "--kafka-port")]


def _running(pipeline: Pipeline) -> Running:
    return Running(
        pid=os.getpid(),
        door=pipeline.door,
        provider=pipeline.plan.provider if pipeline.served.sources else "",
        bootstrap_servers=pipeline.settings.bootstrap_servers,
        topic_prefix=pipeline.settings.topic_prefix,
        partitions=pipeline.settings.partitions,
        inboxes=dict(pipeline.served.inboxes),
    )


def _stop(pipeline: Pipeline, screen: Screen) -> None:
    """End everything in order; a second Ctrl-C ends it at once."""
    try:
        screen.say("Stopping. Ctrl-C again ends everything at once.")
        pipeline.stop()
    except Interrupted:
        pipeline.kill()

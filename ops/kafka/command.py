"""`onereply kafka`: a local broker for one machine, started, asked about and stopped.

Owns: options, words and exit codes of the three commands.
May not: know how a broker is run.
"""

import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from ops.kafka.broker import LocalKafka
from ops.kafka.cluster import (
    ClusterStatus,
    cluster_folder,
    cluster_status,
    running,
    stop_cluster,
    stored_plan,
)
from ops.kafka.errors import AlreadyRunning, BrokerAway, ClusterRefused, JarRefused
from ops.kafka.jars import kafka_version, locked_jars
from ops.kafka.node import Lifetime
from ops.kafka.properties import HOST
from ops.kafka.room import KEEP_MB, require_room
from ops.kafka.telling import Lines
from schemas.settings import Settings

DEFAULT_PORT: Final = 9092
DOWN: Final = 1
# How often a broker in the foreground is looked at.
LOOK_S: Final = 0.5

Command = Callable[..., Any]


class _Failed(click.ClickException):
    """The cluster is there and is not what was asked for."""

    exit_code = 1


class _Away(click.ClickException):
    """A dependency is away."""

    exit_code = 3


@contextmanager
def _one_sentence() -> Iterator[None]:
    try:
        yield
    except ClusterRefused as error:
        raise _Failed(str(error)) from error
    except (BrokerAway, JarRefused) as error:
        raise _Away(str(error)) from error
    except PermissionError as error:
        raise _Away("The broker belongs to another user.") from error


def _data_dir_option(command: Command) -> Command:
    option: Command = click.option(
        "--data-dir",
        type=click.Path(path_type=Path, file_okay=False),
        envvar="ONEREPLY_DATA_DIR",
        default=Settings.model_fields["data_dir"].default,
        show_default=True,
        show_envvar=True,
        help="Folder for jars, data and logs.",
    )(command)
    return option


def _json_option(command: Command) -> Command:
    option: Command = click.option(
        "--json", "as_json", is_flag=True, help="Answer in JSON, for scripts."
    )(command)
    return option


@click.group()
def kafka() -> None:
    """Real Apache Kafka on this machine, from Python packages alone. Loopback only."""


@kafka.command()
@_data_dir_option
@click.option(
    "--port",
    type=click.IntRange(0, 65_533),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port of the first node, the next ones take the next; 0: free ones.",
)
@click.option(
    "--nodes",
    type=click.Choice(["1", "3"]),
    help="Size of a new cluster [default: 1]; three survive the loss of one.",
)
@click.option("--foreground", is_flag=True, help="Stay until Ctrl-C, and take the broker along.")
@_json_option
def start(data_dir: Path, **options: Any) -> None:
    """Start the broker and return when it answers. The first start downloads it, once."""
    stored, asked, port = stored_plan(data_dir), options["nodes"], options["port"]
    count = int(asked) if asked else len(stored.nodes) if stored else 1
    broker = LocalKafka(data_dir, port=port or None, nodes=count, teller=Lines())
    lifetime = Lifetime.OWNED if options["foreground"] else Lifetime.DETACHED
    began = time.monotonic()
    _end_on_signals()
    with _one_sentence():
        try:
            broker.start(lifetime)
        except AlreadyRunning:
            _tell_running(data_dir, port=port, as_json=options["as_json"])
            return
        tell = partial(_tell_started, broker, as_json=options["as_json"])
        if lifetime is Lifetime.DETACHED:
            tell(time.monotonic() - began)
            return
        with _ended_on_signal(broker):
            tell(time.monotonic() - began)
            while True:
                time.sleep(LOOK_S)
                require_room(data_dir, needed_mb=KEEP_MB)
                broker.require_running()


@kafka.command()
@_data_dir_option
@_json_option
def stop(data_dir: Path, *, as_json: bool) -> None:
    """Stop the broker in good order; its data stays."""
    with _one_sentence():
        were_running = [process.pid for process in running(data_dir)]
        killed = stop_cluster(data_dir)
    if as_json:
        click.echo(json.dumps({"stopped": were_running, "killed": killed}))
    elif not were_running:
        click.echo(f"No Kafka runs in {data_dir}.")
    else:
        click.echo("Kafka has stopped.")
    for pid in killed:
        click.echo(f"Process {pid} did not end in time and was killed.", err=True)


@kafka.command()
@_data_dir_option
@_json_option
def status(data_dir: Path, *, as_json: bool) -> None:
    """Tell whether the broker is up. Exit code 0: up, 1: down."""
    seen = cluster_status(data_dir)
    if as_json:
        click.echo(json.dumps(asdict(seen)))
    else:
        click.echo("\n".join(_status_lines(seen)))
    sys.exit(0 if seen.is_up else DOWN)


def _status_lines(seen: ClusterStatus) -> list[str]:
    if not seen.nodes:
        return [f"Kafka is down: {seen.data_dir} holds no cluster yet."]
    first = f"Kafka is up at {seen.bootstrap_servers}." if seen.is_up else "Kafka is down."
    states = [
        f"  node {node.node_id} at {node.address}: "
        + (f"runs (process {node.pid})" if node.is_running else "does not run")
        for node in seen.nodes
    ]
    return [first, *states, f"  data in {seen.data_dir}"]


def _end_on_signals() -> None:
    """A signal raises SystemExit, so that what was started is ended on the way out."""

    def leave(number: int, _frame: object) -> None:
        sys.exit(128 + number)

    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, leave)


def _tell_started(broker: LocalKafka, seconds: float, *, as_json: bool) -> None:
    if as_json:
        seen = asdict(cluster_status(broker.data_dir))
        click.echo(json.dumps(seen | {"java": broker.java, "started_in_s": round(seconds, 2)}))
        return
    version = kafka_version(locked_jars())
    click.echo(f"Apache Kafka {version} is up at {broker.bootstrap_servers} ({seconds:.1f} s).")
    click.echo(f"  {broker.java}")
    click.echo(f"  data and logs in {cluster_folder(broker.data_dir)}")


def _tell_running(data_dir: Path, *, port: int, as_json: bool) -> None:
    seen = cluster_status(data_dir)
    if port and not seen.bootstrap_servers.startswith(f"{HOST}:{port}"):
        raise _Failed(
            f"The Kafka in {data_dir} is at {seen.bootstrap_servers}: stop it first to move it."
        )
    if as_json:
        click.echo(json.dumps(asdict(seen)))
    else:
        click.echo("\n".join(_status_lines(seen)))
    if not seen.is_up:
        raise _Failed("Stop it with: onereply kafka stop")


@contextmanager
def _ended_on_signal(broker: LocalKafka) -> Iterator[None]:
    try:
        yield
    except SystemExit:
        click.echo("Stopping Kafka ...", err=True)
        for pid in broker.stop():
            click.echo(f"Process {pid} did not end in time and was killed.", err=True)
    except BrokerAway:
        broker.stop()
        raise

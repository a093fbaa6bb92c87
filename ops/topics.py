"""`onereply topics`: what the topics are, whether the cluster has them so, and making them.

Owns: the plan of what `create` would do, the words and the exit codes.
May not: have a rule of its own about a topic; schemas.topics compares, schemas.cluster acts.
"""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import click
from confluent_kafka import KafkaException
from rich.console import Console
from rich.table import Table

from ops.local import settings_here
from ops.run.ending import FAILED, one_sentence
from ops.run.memory import is_own, require_remembered
from schemas.cluster import LOCAL_BOOTSTRAP, admin, create_topics, seen_topics
from schemas.differences import differences, different_options
from schemas.errors import SettingsError, Transient
from schemas.internal_topics import InternalSeen, internal_differences
from schemas.settings import Settings
from schemas.startup import seen_internal
from schemas.topics import DAY_MS, TOPICS, Shape, Topic, TopicSeen, TopicSpec

# A person waits; a broker that is there answers within milliseconds.
ANSWER_DEADLINE_S: Final = 5.0
# How Kafka names the refusal of more copies than there are brokers.
TOO_FEW_BROKERS: Final = "INVALID_REPLICATION_FACTOR"
TOO_FEW: Final = (
    "The cluster has fewer than {copies} brokers. Set ONEREPLY_DURABILITY=single-node if losing a "
    "disk's data is fine."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What `create` would do, and what it cannot mend."""

    create: tuple[str, ...]
    set_options: tuple[str, ...]
    left: tuple[str, ...]


def plan_of(shape: Shape, seen: dict[str, TopicSeen], internal: InternalSeen) -> Plan:
    """The plan that makes the cluster as declared, as far as that can be done to live topics.

    Kafka's own topics are none of ours to change; what is wrong with them is left, and told.
    """
    create, options, after = [], [], dict[str, TopicSeen]()
    for topic in Topic:
        name, wanted = shape.name(topic), shape.config_of(topic)
        if name not in seen:
            create.append(name)
            after[name] = TopicSeen(
                partitions=shape.partitions_of(topic), replication=shape.replication, config=wanted
            )
            continue
        to_set = different_options(shape, topic, seen[name])
        options += [
            f"{name}: {option} from {seen[name].config.get(option)} to {value}"
            for option, value in to_set
        ]
        after[name] = replace(seen[name], config=seen[name].config | dict(to_set))
    left = (*_too_few(shape, internal), *differences(shape, after))
    return Plan(
        create=tuple(create),
        set_options=tuple(options),
        left=(*left, *internal_differences(shape, internal)),
    )


def asked_topics(settings: Settings) -> dict[str, TopicSeen]:
    """What the cluster says about our topics. Raises Transient."""
    client = admin(settings)
    try:
        client.list_topics(timeout=ANSWER_DEADLINE_S)
    except KafkaException as error:
        servers = settings.bootstrap_servers or LOCAL_BOOTSTRAP
        raise Transient(f"No Kafka answers at {servers}.") from error
    return seen_topics(client, settings)


def made_topics(settings: Settings) -> list[str]:
    """Make the topics and say what was done.

    Raises SettingsError when the cluster has too few brokers for so many copies, MemoryLost when
    the folder's own broker forgot topics that it holds, else Transient.
    """
    seen = asked_topics(settings)
    if is_own(settings):
        require_remembered(settings, seen)
    try:
        return create_topics(settings)
    except Transient as error:
        if TOO_FEW_BROKERS not in str(error):
            raise
        copies = settings.shape().replication
        raise SettingsError([TOO_FEW.format(copies=copies)]) from error


def _too_few(shape: Shape, internal: InternalSeen) -> list[str]:
    if internal.brokers >= shape.replication:
        return []
    return [TOO_FEW.format(copies=shape.replication)]


@click.group()
def topics() -> None:
    """The topics: list them, compare them with the cluster, create them."""


@topics.command(name="list")
@click.option("--json", "is_json", is_flag=True, help="For scripts.")
def list_topics(*, is_json: bool) -> None:
    """What is declared: each topic, how it is kept, and why it is there."""
    with one_sentence(Path()):
        settings = settings_here()
    shape = settings.shape()
    if is_json:
        click.echo(json.dumps([_row(shape, topic) for topic in Topic]))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("topic", "partitions", "kept", "why"):
        table.add_column(heading, justify="right" if heading == "partitions" else "left")
    for topic in Topic:
        spec = TOPICS[topic]
        table.add_row(shape.name(topic), str(shape.partitions_of(topic)), _kept(spec), spec.why)
    Console().print(table)


@topics.command()
@click.option("--json", "is_json", is_flag=True, help="For scripts.")
@click.pass_context
def check(context: click.Context, *, is_json: bool) -> None:
    """Compare the cluster with what is declared.

    Exit code 0: as declared. 1: it differs; each line says how to mend it. 3: no broker answers.
    """
    with one_sentence(Path()):
        settings = settings_here()
        found = differences(settings.shape(), asked_topics(settings))
        internal = seen_internal(admin(settings))
        found += internal_differences(settings.shape(), internal)
    _tell_unseen(internal)
    if is_json:
        click.echo(json.dumps({"differences": found}))
    elif found:
        click.echo("\n".join(found))
    else:
        click.echo(f"All {len(Topic)} topics are as declared.")
    context.exit(FAILED if found else 0)


@topics.command()
@click.option("--execute", is_flag=True, help="Do it; without this the plan is shown.")
@click.option("--json", "is_json", is_flag=True, help="For scripts.")
@click.pass_context
def create(context: click.Context, *, execute: bool, is_json: bool) -> None:
    """Create what is missing and set options that differ. Safe to repeat.

    Exit code 0: done, or the plan shown. 1: something differs that this cannot mend. 3: no broker
    answers.
    """
    with one_sentence(Path()):
        settings = settings_here()
        seen, internal = asked_topics(settings), seen_internal(admin(settings))
        plan = plan_of(settings.shape(), seen, internal)
        done = made_topics(settings) if execute else []
    _tell_unseen(internal)
    if is_json:
        click.echo(json.dumps({**asdict(plan), "done": done}))
    else:
        _tell(plan, settings.shape(), done=done if execute else None)
    context.exit(FAILED if plan.left else 0)


def _tell_unseen(internal: InternalSeen) -> None:
    for each in internal.unseen:
        click.echo(f"Not checked: copies of Kafka's own topics; {each}.", err=True)


def _tell(plan: Plan, shape: Shape, *, done: list[str] | None) -> None:
    copies = f"{shape.replication} {'copy' if shape.replication == 1 else 'copies'}"
    for line in plan.left:
        click.echo(f"cannot be mended here: {line}")
    if done is not None:
        click.echo("\n".join(done) or "Nothing to do.")
        return
    for name in plan.create:
        click.echo(f"create {name} ({copies})")
    for line in plan.set_options:
        click.echo(f"set {line}")
    if plan.create or plan.set_options:
        click.echo("Plan only. Add --execute to do this.")
    else:
        click.echo("Nothing to do.")


def _row(shape: Shape, topic: Topic) -> dict[str, Any]:
    spec = TOPICS[topic]
    return {
        "name": shape.name(topic),
        "partitions": shape.partitions_of(topic),
        "replication": shape.replication,
        "key": spec.key,
        "writers": spec.writers,
        "readers": spec.readers,
        "why": spec.why,
        "config": shape.config_of(topic),
    }


def _kept(spec: TopicSpec) -> str:
    days = None if spec.retention_ms is None else f"{spec.retention_ms // DAY_MS} d"
    if "compact" not in spec.cleanup:
        return days or "for ever"
    return "compacted" if days is None else f"compacted, {days}"

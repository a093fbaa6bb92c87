"""`onereply blobs`: large bodies that no record names any more, and removing them.

A blob is durable before its record is published, so a death in between leaves one that no record
will ever name; and a record ends with its topic's retention, or when a later copy takes its place.

Owns: which blobs may be removed: of a day that is over for more than a day, and named by no record.
May not: remove anything where the log was not read to its end.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

import click
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from rich.progress import Progress

from ops.local import settings_here
from ops.run.ending import one_sentence
from schemas.blobs import BLOB_REFERENCE, folder_in, store_of
from schemas.cluster import cluster_id_of, consumer_config
from schemas.errors import DecodeError, Transient
from schemas.headers import BLOB, BODY
from schemas.settings import Settings
from schemas.topics import Topic

# The door names the day before it keeps the blob, and its record follows within its deadlines.
DAYS_LEFT_ALONE: Final = 2
# A broker that says nothing for so long is away, and then nothing is known of what it holds.
SILENCE_S: Final = 30.0
SHOWN: Final = 20


def old_enough(days: Mapping[date, Sequence[str]], today: date) -> list[str]:
    """The addresses that were kept long enough ago, oldest first."""
    newest = today - timedelta(days=DAYS_LEFT_ALONE)
    return [address for day in sorted(days) if day <= newest for address in days[day]]


@click.group()
def blobs() -> None:
    """Large bodies, which lie in a store beside the log."""


@blobs.command()
@click.option("--execute", is_flag=True, help="Do it; without this the plan is shown.")
@click.option("--json", "is_json", is_flag=True, help="For scripts.")
def sweep(*, execute: bool, is_json: bool) -> None:
    """Remove the blobs that no record names, but for those of today and yesterday (UTC).

    Reads all of inbound-events. Safe to repeat, and beside everything that runs. Exit code 0: done,
    or the plan shown. 3: Kafka or the store is away; then nothing more is removed.
    """
    with one_sentence(Path()):
        settings = settings_here()
        store = store_of(settings)
        # Listed first: what is named after the list was made is not on it, or was named before.
        listed = old_enough(
            store.days(folder_in(settings, cluster_id_of(settings))), datetime.now(UTC).date()
        )
        named = named_in_log(settings) if listed else frozenset[str]()
        orphans = [address for address in listed if address not in named]
        for address in orphans if execute else ():
            store.remove(address)
    if is_json:
        found = {"looked_at": len(listed), "orphans": orphans, "removed": execute}
        click.echo(json.dumps(found))
        return
    for address in orphans[:SHOWN]:
        click.echo(f"{'removed' if execute else 'remove'} {address}")
    if len(orphans) > SHOWN:
        click.echo(f"and {len(orphans) - SHOWN} more")
    if not orphans:
        click.echo("Nothing to do.")
    elif not execute:
        click.echo("Plan only. Add --execute to do this.")


def named_in_log(settings: Settings) -> frozenset[str]:
    """The addresses that records of inbound-events name, to its present end. Raises Transient."""
    consumer = Consumer(
        consumer_config(settings, group="onereply-blobs") | {"enable.partition.eof": True}
    )
    try:
        return frozenset(map(_address_in, _records(consumer, settings)))
    except KafkaException as error:
        raise Transient(f"the broker does not answer: {error.args[0]}") from error
    finally:
        consumer.close()


def _records(consumer: Consumer, settings: Settings) -> Iterator[Message]:
    name = settings.shape().name(Topic.INBOUND_EVENTS)
    listed = consumer.list_topics(name, SILENCE_S).topics[name].partitions
    if not listed:
        raise Transient(f"there is no topic {name}, so nothing is known of what its records name")
    places = [TopicPartition(name, number) for number in listed]
    ends = {}
    for place in places:
        start, ends[place.partition] = consumer.get_watermark_offsets(place, SILENCE_S)
        place.offset = start
    consumer.assign(places)
    last_s, left = time.monotonic(), set(ends)
    with Progress(transient=True) as progress:
        total = sum(ends[place.partition] - place.offset for place in places)
        task = progress.add_task("reading inbound-events", total=total)
        while left:
            message = consumer.poll(1.0)
            if message is None:
                if time.monotonic() - last_s > SILENCE_S:
                    raise Transient("the broker says nothing more of inbound-events")
                continue
            last_s = time.monotonic()
            error, number = message.error(), message.partition() or 0
            if error is None:
                progress.advance(task)
                yield message
                is_read = (message.offset() or 0) + 1 >= ends[number]
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001  # the library's public constant has this name
                is_read = True
            else:
                raise KafkaException(error)
            if is_read:
                left.discard(number)


def _address_in(message: Message) -> str:
    """The address that the record names, or nothing."""
    value = message.value()
    if value is None or (BODY, BLOB.encode()) not in (message.headers() or []):
        return ""
    try:
        return BLOB_REFERENCE.decode(bytes(value)).address
    except DecodeError:
        return ""

"""Both Kafka clients of this project put a key into the same partition, which is Java's."""

from pathlib import Path

from schemas.cluster import create_topics
from schemas.topics import Topic
from tests.logs import await_records, corner, environ_of, put, records_in
from tests.processes import Process, clean_environ
from tests.writing import request_bytes

PARTITIONS = 7
# Key -> its murmur2 hash as Java's client computes it (a signed 32-bit number).
JAVA = {
    "21": -973932308,
    "foobar": -790332482,
    "a-little-bit-long-string": -985981536,
    "a-little-bit-longer-string": -1486304829,
    "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    "abc": 479470107,
}


def test_a_key_has_one_partition_whoever_writes_it(
    broker: str, prefix: str, tmp_path: Path
) -> None:
    """DECIDE and WRITE speak to SEND about one reply: two partitions would be two ledgers."""
    directory = tmp_path / "onereply.toml"
    directory.write_text("", encoding="utf-8")
    settings = corner(
        broker,
        prefix,
        data_dir=str(tmp_path / "data"),
        config_file=str(directory),
        partitions=PARTITIONS,
    )
    create_topics(settings)
    pairs = [(key.encode(), request_bytes(inbox_id=key)) for key in JAVA]
    put(settings, Topic.WRITER_REQUESTS, pairs)

    with Process("processors", "write", environ=clean_environ(**environ_of(settings))) as process:
        process.start()
        by_faust = await_records(settings, Topic.REPLY_COMMANDS, len(JAVA))

    expected = {key.encode(): (number & 0x7FFFFFFF) % PARTITIONS for key, number in JAVA.items()}
    by_librdkafka = records_in(settings, Topic.WRITER_REQUESTS)
    assert {record.key: record.partition for record in by_librdkafka} == expected
    assert {record.key: record.partition for record in by_faust} == expected

"""The options of the Faust app, as data.

Owns: each option's reason.
May not: read an environment variable; Faust itself would.
"""

from pathlib import Path
from typing import Any, Final

from processors.writers.connection import brokers, credentials
from schemas.settings import Settings
from schemas.topics import MAX_DEAD_LETTER_BYTES, MAX_RECORD_BYTES

# After a kill, requests answered since the last commit are answered again: a second of them.
COMMIT_EVERY_S: Final = 1.0
# A record that the broker does not take for so long ends the process; the next one reads the
# request again.
PRODUCE_DEADLINE_S: Final = 30.0
# Requests read ahead. Faust looks up once a second when this many wait, so it bounds the rate too.
READ_AHEAD: Final = 1024
FETCH_RECORDS: Final = 256


def faust_options(settings: Settings) -> dict[str, Any]:
    """What to make the app with. Raises SettingsError."""
    group = f"{settings.topic_prefix}write"
    session_s = settings.session_timeout_ms / 1000
    return {
        "id": group,
        "env": {},
        "broker": brokers(settings),
        "broker_credentials": credentials(settings),
        "broker_client_id": f"onereply-{settings.worker_name}",
        # No state, no topics of its own, no port, no files but an empty folder.
        "store": "memory://",
        "table_standby_replicas": 0,
        "topic_allow_declare": False,
        "topic_disable_leader": True,
        "web_enabled": False,
        "datadir": Path(settings.data_dir) / "write",
        "key_serializer": "raw",
        "value_serializer": "raw",
        "processing_guarantee": "at_least_once",
        # A killed worker's partitions wait for its return instead of moving twice.
        "consumer_group_instance_id": f"{group}-{settings.worker_name}",
        "consumer_auto_offset_reset": "earliest",
        "consumer_max_fetch_size": MAX_RECORD_BYTES,
        "broker_session_timeout": session_s,
        "broker_heartbeat_interval": session_s / 5,
        "broker_max_poll_interval": settings.poll_interval_ms / 1000,
        "broker_max_poll_records": FETCH_RECORDS,
        "broker_commit_interval": COMMIT_EVERY_S,
        "broker_check_crcs": False,
        "stream_buffer_maxsize": READ_AHEAD,
        # A stop and a rebalance cut writers off; else each would take as long as the slowest.
        "stream_wait_empty": False,
        "producer_linger": 0,
        "producer_max_request_size": MAX_DEAD_LETTER_BYTES,
        "producer_request_timeout": PRODUCE_DEADLINE_S,
    }

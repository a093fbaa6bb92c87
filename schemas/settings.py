"""Settings: read once from ONEREPLY_* variables, validated as a whole, then frozen.

Owns: every setting's name, unit, default and reason, and the relations between them.
May not: read anything but the environment that it is given.
"""

import json
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from operator import ge, le, lt
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import BeforeValidator, Field, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from schemas.errors import SettingsError
from schemas.topics import MAX_RECORD_BYTES, Shape

HOUR_S: Final = 3600
# The longest retry schedule that a sender we know of keeps to (Standard Webhooks, providers.md 6).
LONGEST_RETRY_S: Final = 76 * HOUR_S

# What may lie between two polls beside a transaction, in the worst case: its abort (10 s) and the
# watchdog's grace (5 s), then the four questions of a new partition (10 s each) without an answer.
BESIDE_TRANSACTION_MS: Final = 55_000

PREFIX: Final = "ONEREPLY_"
JSON_EXAMPLE: Final = '{"security.protocol": "SSL"}'


def _parsed(given: Any) -> Any:
    """What the JSON says. The library would end the process with a trace where it is none."""
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except ValueError as error:
        raise ValueError(f"must be JSON, such as {JSON_EXAMPLE}: {error}") from error


class Settings(BaseSettings):
    """All settings of all processes; a process uses the ones it needs."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    # -- cluster
    bootstrap_servers: str = Field("", description="Kafka to use; empty: the local one.")
    kafka_options: Annotated[dict[str, str], NoDecode, BeforeValidator(_parsed)] = Field(
        default_factory=dict,
        description="More librdkafka options as JSON, e.g. security.protocol and sasl.*.",
    )
    topic_prefix: str = Field("", pattern=r"^[a-z0-9-]*$", description="Stands before each topic.")
    partitions: int = Field(
        4, ge=1, le=1000, description="Of each partitioned topic. Fixed once data is written."
    )
    durability: Literal["replicated", "single-node"] = Field(
        "replicated", description="replicated: 3 copies, 2 in sync. single-node: a disk is a loss."
    )
    worker_name: str = Field(
        "worker-1",
        pattern=r"^[A-Za-z0-9._-]{1,100}$",
        description="Stable name of this worker: its membership and its transactions go by it.",
    )

    # -- this machine
    data_dir: str = Field(".onereply", description="Stores, blobs and the local broker's data.")
    config_file: str = Field("onereply.toml", description="Sources, inboxes, routes, accounts.")
    listen_host: str = Field("127.0.0.1", description="Address of the door.")
    listen_port: int = Field(8080, ge=0, le=65535, description="Port of the door; 0: a free one.")

    # -- door
    max_body_bytes: int = Field(
        50 * 1024 * 1024,
        ge=1024,
        le=256 * 1024 * 1024,
        description="A longer body is answered 413. Providers that inline attachments post 50 MB.",
    )
    body_memory_bytes: int = Field(
        64 * 1024 * 1024,
        ge=1024 * 1024,
        description="For all bodies in hand together; what does not fit is answered 503.",
    )
    body_deadline_ms: int = Field(
        10_000, ge=100, description="For reading one body whole; a second more for each MiB."
    )
    blob_url: str = Field(
        "",
        description="Store of bodies above 512 KiB: a folder that the door and dedupe share, or "
        "any URL of fsspec; empty: blobs in the data folder.",
    )
    blob_deadline_ms: int = Field(
        8_000, ge=100, description="For checking and keeping one body above 512 KiB, else 503."
    )
    publish_deadline_ms: int = Field(
        4_000,
        ge=100,
        description="From the body's end to the broker's ack, else 503. Bird gives 5 s in all.",
    )
    max_concurrent_requests: int = Field(
        1_000, ge=1, description="Requests in hand at once; one more is answered 503."
    )

    # -- stages
    batch_records: int = Field(8_000, ge=1, le=100_000, description="Most records a transaction.")
    batch_bytes: int = Field(32 * 1024 * 1024, ge=1024, description="Most bytes a transaction.")
    transaction_timeout_ms: int = Field(
        10_000, ge=1_000, description="A worker that never returns holds readers up this long."
    )
    session_timeout_ms: int = Field(
        15_000, ge=6_000, description="A silent worker's partitions move after this."
    )
    poll_interval_ms: int = Field(120_000, ge=10_000, description="Longest time between two polls.")
    recovery_silence_ms: int = Field(
        60_000, ge=1_000, description="A restore without progress ends with an error after this."
    )
    store_cache_bytes: int = Field(
        64 * 1024 * 1024, ge=1024 * 1024, description="RocksDB block cache, shared by partitions."
    )
    metrics_port: int = Field(0, ge=0, le=65535, description="Port of a stage's /metrics; 0: none.")
    metrics_host: str = Field("127.0.0.1", description="Address of a stage's /metrics.")
    effects_at_once: int = Field(32, ge=1, le=1_000, description="Calls outside in flight at once.")

    # -- dedupe, fetch, reorder
    dedupe_horizon_s: int = Field(
        7 * 24 * HOUR_S, ge=1, description="How long an event key is remembered."
    )
    identity_horizon_s: int = Field(
        30 * 24 * HOUR_S, ge=1, description="How long a message identity is remembered."
    )
    grace_ms: int = Field(2_000, ge=0, description="Wait when only timestamps can tell the order.")
    predecessor_wait_ms: int = Field(
        90_000, ge=0, description="Wait for a parent that is named but unknown."
    )
    fetch_wait_ms: int = Field(300_000, ge=0, description="Wait for an announced mail's content.")
    hold_per_thread: int = Field(100, ge=1, description="Most events held for one thread.")
    hold_per_partition: int = Field(50_000, ge=1, description="Most events held in a partition.")
    hold_bytes: int = Field(
        256 * 1024 * 1024, ge=1024, description="Most bytes held in a partition."
    )

    # -- decide
    cap_thread_hour: int = Field(5, ge=0, description="Replies a thread and hour.")
    cap_correspondent_day: int = Field(10, ge=0, description="Replies a correspondent and day.")
    cap_domain_day: int = Field(100, ge=0, description="Replies a sender's domain and day.")
    cap_inbox_hour: int = Field(500, ge=0, description="Replies an inbox and hour.")

    # -- write
    writer: str = Field(
        "template", description="template, or module:function of your own coroutine."
    )
    writer_template: str = Field("", description="Jinja2 file for the template writer.")
    writer_deadline_ms: int = Field(120_000, ge=100, description="For one call of the writer.")
    writer_timeout_ms: int = Field(
        300_000, ge=200, description="Without a text for so long, a reply is asked again."
    )
    writer_concurrency: int = Field(16, ge=1, le=1_000, description="Writers running at once.")

    # -- send
    provider_timeout_ms: int = Field(10_000, ge=100, description="For one call to the provider.")
    lease_ms: int = Field(
        15_000, ge=200, description="A claim on a reply; after it the outcome counts as unknown."
    )
    give_up_after_s: int = Field(24 * HOUR_S, ge=1, description="A reply not sent is given up.")
    approval_expiry_s: int = Field(
        7 * 24 * HOUR_S,
        ge=60,
        le=400 * 24 * HOUR_S,
        description="A text held for a person's word is refused after this; its row lives 400 d.",
    )
    control_lease_ms: int = Field(500, ge=50, description="How old a view of `control` may be.")

    def shape(self) -> Shape:
        """How the topics lie on the cluster."""
        is_single = self.durability == "single-node"
        return Shape(
            prefix=self.topic_prefix,
            partitions=self.partitions,
            replication=1 if is_single else 3,
            min_insync=1 if is_single else 2,
        )


def load_settings(**overrides: object) -> Settings:
    """The settings of this process's environment. Raises SettingsError with every problem."""
    try:
        settings = Settings(**overrides)  # type: ignore[arg-type]  # pydantic validates them
    except ValidationError as error:
        wrong = {str(each["loc"][0]) for each in error.errors() if each["loc"]}
        found = [_problem(dict(each)) for each in error.errors()]
        raise SettingsError(found + relation_problems(_without(wrong, overrides), wrong)) from error
    if contradictions := relation_problems(settings):
        raise SettingsError(contradictions)
    return settings


def _problem(error: dict[str, object]) -> str:
    location = error["loc"]
    names = location if isinstance(location, tuple) else (location,)
    name = "_".join(str(each) for each in names).upper()
    return f"ONEREPLY_{name}: {str(error['msg']).removeprefix('Value error, ')}"


def _without(wrong: AbstractSet[str], overrides: dict[str, object]) -> Settings:
    """The settings with the wrong ones at their defaults, so that the others can be looked at."""
    defaults = {
        name: Settings.model_fields[name].get_default(call_default_factory=True) for name in wrong
    }
    return Settings(**overrides | defaults)  # type: ignore[arg-type]  # pydantic validates them


def relation_problems(settings: Settings, wrong: AbstractSet[str] = frozenset()) -> list[str]:
    """The settings that contradict each other, one line each; empty when none do.

    A relation of one that is wrong in itself is left out: nothing can be said about it yet.
    """
    return [
        rule.sentence
        for rule in RELATIONS
        if not wrong & set(rule.fields)
        and not rule.is_kept(*(getattr(settings, name) for name in rule.fields))
    ]


class Relation(NamedTuple):
    """What must hold between settings: `is_kept` takes the values of the fields, in order."""

    fields: tuple[str, ...]
    is_kept: Callable[..., bool]
    sentence: str


RELATIONS: Final = (
    Relation(
        ("dedupe_horizon_s",),
        lambda horizon_s: horizon_s >= LONGEST_RETRY_S,
        "ONEREPLY_DEDUPE_HORIZON_S: must be at least 76 h (273600), "
        "or a provider's last retry is a new event",
    ),
    Relation(
        ("identity_horizon_s", "dedupe_horizon_s"),
        ge,
        "ONEREPLY_IDENTITY_HORIZON_S: must not be shorter than ONEREPLY_DEDUPE_HORIZON_S",
    ),
    Relation(
        ("provider_timeout_ms", "lease_ms"),
        lt,
        "ONEREPLY_PROVIDER_TIMEOUT_MS: must be shorter than ONEREPLY_LEASE_MS, "
        "or a claim runs out while its call is under way",
    ),
    Relation(
        ("writer_deadline_ms", "writer_timeout_ms"),
        lt,
        "ONEREPLY_WRITER_DEADLINE_MS: must be shorter than ONEREPLY_WRITER_TIMEOUT_MS, "
        "or a reply is asked again while its writer still works",
    ),
    Relation(
        ("transaction_timeout_ms", "session_timeout_ms"),
        le,
        "ONEREPLY_TRANSACTION_TIMEOUT_MS: must not be longer than "
        "ONEREPLY_SESSION_TIMEOUT_MS, or a successor waits for its transaction",
    ),
    Relation(
        ("session_timeout_ms", "poll_interval_ms"),
        lt,
        "ONEREPLY_SESSION_TIMEOUT_MS: must be shorter than ONEREPLY_POLL_INTERVAL_MS",
    ),
    Relation(
        ("poll_interval_ms", "transaction_timeout_ms"),
        lambda poll_ms, transaction_ms: poll_ms >= transaction_ms + BESIDE_TRANSACTION_MS,
        "ONEREPLY_POLL_INTERVAL_MS: must be longer than ONEREPLY_TRANSACTION_TIMEOUT_MS by at "
        f"least {BESIDE_TRANSACTION_MS}, or who waits for the broker loses its partitions",
    ),
    Relation(
        ("batch_bytes",),
        lambda size_bytes: size_bytes >= MAX_RECORD_BYTES,
        f"ONEREPLY_BATCH_BYTES: must hold the largest record ({MAX_RECORD_BYTES} bytes)",
    ),
)

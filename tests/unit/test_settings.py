import os

import pytest

from processors.runtime.ground import ASK_DEADLINE_S
from processors.runtime.transactions import ABORT_DEADLINE_S
from processors.runtime.watchdog import GRACE_S
from schemas.errors import SettingsError
from schemas.settings import BESIDE_TRANSACTION_MS, Settings, load_settings, relation_problems
from schemas.topics import Shape


@pytest.fixture(autouse=True)
def no_settings_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of whoever runs the tests."""
    for name in [each for each in os.environ if each.startswith("ONEREPLY_")]:
        monkeypatch.delenv(name)


def problems_of(**settings: object) -> list[str]:
    """What keeps these settings from being used."""
    with pytest.raises(SettingsError) as caught:
        load_settings(**settings)
    return list(caught.value.problems)


BROKEN_RELATIONS = {
    "horizon below the longest retry": (
        {"dedupe_horizon_s": 76 * 3600 - 1},
        [
            (
                "ONEREPLY_DEDUPE_HORIZON_S: must be at least 76 h (273600), "
                "or a provider's last retry is a new event"
            )
        ],
    ),
    "messages forgotten before events": (
        {"identity_horizon_s": 7 * 24 * 3600 - 1},
        ["ONEREPLY_IDENTITY_HORIZON_S: must not be shorter than ONEREPLY_DEDUPE_HORIZON_S"],
    ),
    "lease as short as the call": (
        {"lease_ms": 10_000},
        [
            (
                "ONEREPLY_PROVIDER_TIMEOUT_MS: must be shorter than ONEREPLY_LEASE_MS, "
                "or a claim runs out while its call is under way"
            )
        ],
    ),
    "writer asked again while it works": (
        {"writer_timeout_ms": 120_000},
        [
            (
                "ONEREPLY_WRITER_DEADLINE_MS: must be shorter than ONEREPLY_WRITER_TIMEOUT_MS, "
                "or a reply is asked again while its writer still works"
            )
        ],
    ),
    "transaction outlives its session": (
        {"transaction_timeout_ms": 15_001},
        [
            (
                "ONEREPLY_TRANSACTION_TIMEOUT_MS: must not be longer than "
                "ONEREPLY_SESSION_TIMEOUT_MS, or a successor waits for its transaction"
            )
        ],
    ),
    "session as long as a poll may take": (
        {"session_timeout_ms": 120_000},
        ["ONEREPLY_SESSION_TIMEOUT_MS: must be shorter than ONEREPLY_POLL_INTERVAL_MS"],
    ),
    "polls as far apart as a transaction takes": (
        {"poll_interval_ms": 64_999},
        [
            (
                "ONEREPLY_POLL_INTERVAL_MS: must be longer than ONEREPLY_TRANSACTION_TIMEOUT_MS "
                "by at least 55000, or who waits for the broker loses its partitions"
            )
        ],
    ),
    "batch smaller than a record": (
        {"batch_bytes": 4 * 1024 * 1024 - 1},
        ["ONEREPLY_BATCH_BYTES: must hold the largest record (4194304 bytes)"],
    ),
}


def test_defaults_agree_with_each_other() -> None:
    """Who sets nothing must be able to start."""
    assert relation_problems(load_settings()) == []


@pytest.mark.parametrize(("settings", "expected"), BROKEN_RELATIONS.values(), ids=BROKEN_RELATIONS)
def test_settings_that_contradict_each_other_are_refused(
    settings: dict[str, object], expected: list[str]
) -> None:
    """Each alone looks sensible; together they lose or double something."""
    assert problems_of(**settings) == expected


def test_every_contradiction_is_reported_at_once() -> None:
    """One at a time would be one restart for each."""
    together: dict[str, object] = {}
    for settings, _ in BROKEN_RELATIONS.values():
        together |= settings

    # Four of them move the same two numbers: two of these contradictions hide the other two.
    assert len(problems_of(**together)) == len(BROKEN_RELATIONS) - 2


def test_every_wrong_value_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator knows variables, not fields."""
    monkeypatch.setenv("ONEREPLY_PARTITIONS", "none")
    monkeypatch.setenv("ONEREPLY_DURABILITY", "hope")
    monkeypatch.setenv("ONEREPLY_LISTEN_PORT", "65536")

    assert sorted(line.partition(":")[0] for line in problems_of()) == [
        "ONEREPLY_DURABILITY",
        "ONEREPLY_LISTEN_PORT",
        "ONEREPLY_PARTITIONS",
    ]


def test_wrong_values_and_contradictions_are_reported_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two kinds of problems, mended one after the other, would be two restarts."""
    monkeypatch.setenv("ONEREPLY_PARTITIONS", "none")
    monkeypatch.setenv("ONEREPLY_LEASE_MS", "9000")

    assert [line.partition(":")[0] for line in problems_of(batch_bytes=1024)] == [
        "ONEREPLY_PARTITIONS",
        "ONEREPLY_PROVIDER_TIMEOUT_MS",
        "ONEREPLY_BATCH_BYTES",
    ]


def test_nothing_is_said_about_a_relation_whose_setting_is_wrong() -> None:
    """What the value would have been is a guess, and so would be the advice."""
    found = problems_of(session_timeout_ms=1, transaction_timeout_ms=20_000, lease_ms=9_000)

    assert [line.partition(":")[0] for line in found] == [
        "ONEREPLY_SESSION_TIMEOUT_MS",
        "ONEREPLY_PROVIDER_TIMEOUT_MS",
    ]


def test_wrong_json_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quote that a shell has eaten is the usual mistake."""
    monkeypatch.setenv("ONEREPLY_KAFKA_OPTIONS", "{security.protocol: SSL}")
    monkeypatch.setenv("ONEREPLY_LEASE_MS", "9000")

    options, lease = problems_of()

    assert options.startswith(
        'ONEREPLY_KAFKA_OPTIONS: must be JSON, such as {"security.protocol": "SSL"}: '
    )
    assert lease.startswith("ONEREPLY_PROVIDER_TIMEOUT_MS: ")


def test_environment_is_read_with_its_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options for librdkafka come as JSON, numbers as numbers."""
    monkeypatch.setenv("ONEREPLY_KAFKA_OPTIONS", '{"security.protocol": "SSL"}')
    monkeypatch.setenv("ONEREPLY_PARTITIONS", "12")

    settings = load_settings()

    assert (settings.kafka_options, settings.partitions) == ({"security.protocol": "SSL"}, 12)


def test_time_between_polls_covers_all_that_a_stage_waits_for() -> None:
    """The sum stands where the deadlines cannot be imported; they may change."""
    waits_s = ABORT_DEADLINE_S + GRACE_S + 4 * ASK_DEADLINE_S

    assert waits_s * 1000 == BESIDE_TRANSACTION_MS


@pytest.mark.parametrize(
    ("durability", "expected"),
    [
        ("replicated", Shape(prefix="x-", partitions=4, replication=3, min_insync=2)),
        ("single-node", Shape(prefix="x-", partitions=4, replication=1, min_insync=1)),
    ],
)
def test_durability_sets_the_copies(durability: str, expected: Shape) -> None:
    """Less than three copies is taken only from who says so."""
    assert load_settings(topic_prefix="x-", durability=durability).shape() == expected


def test_every_setting_has_a_sentence() -> None:
    """A number without a reason cannot be chosen."""
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []

"""How a stage begins: with options that clients take, and a broker that answers."""

from pathlib import Path
from threading import Event

import pytest
from confluent_kafka import Producer

from processors.starting import once_answered, options_checked
from schemas.cluster import admin, transactional_config
from schemas.errors import SettingsError, Transient
from schemas.settings import Settings, load_settings
from tests.processes import Process, clean_environ


def a_setting(name: str, value: str) -> Settings:
    """Settings with one option of the user's."""
    return load_settings(kafka_options={name: value})


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("no.such.option", "1", 'No such configuration property: "no.such.option"'),
        ("socket.timeout.ms", "soon", "socket.timeout.ms"),
        ("security.protocol", "carrier-pigeon", "security.protocol"),
    ],
)
def test_option_that_no_client_takes_is_a_mistake_in_the_settings(
    name: str, value: str, said: str
) -> None:
    """It is one line that names the setting, and no trace."""
    with pytest.raises(SettingsError) as caught, options_checked():
        admin(a_setting(name, value))

    assert str(caught.value).startswith("ONEREPLY_KAFKA_OPTIONS: ")
    assert said in str(caught.value)


def test_option_that_contradicts_ours_is_a_mistake_in_the_settings() -> None:
    """Each is valid alone, and only a stage's producer sees that both do not go together."""
    with pytest.raises(SettingsError), options_checked():
        Producer(transactional_config(a_setting("max.in.flight", "1000"), "name"))


def test_stage_with_a_refused_option_ends_with_code_2(tmp_path: Path) -> None:
    """The whole process says it in its log and starts nothing."""
    config = tmp_path / "onereply.toml"
    config.write_text("", encoding="utf-8")
    environ = clean_environ(
        ONEREPLY_KAFKA_OPTIONS='{"no.such.option": "1"}', ONEREPLY_CONFIG_FILE=str(config)
    )
    with Process("processors", "dedupe", environ=environ) as process:
        process.start()
        code = process.ended()

    assert code == 2
    assert "ONEREPLY_KAFKA_OPTIONS" in process.lines[-1]
    assert not any("Traceback" in line for line in process.lines)


def test_slow_answer_is_asked_for_again() -> None:
    """The broker was there a moment ago."""
    answers = iter([Transient("waiting for controller"), "worker"])

    def build() -> str:
        """Fails once."""
        answer = next(answers)
        if isinstance(answer, Transient):
            raise answer
        return str(answer)

    assert once_answered(build, Event()) == "worker"


def test_answer_that_never_comes_ends_the_start() -> None:
    """A supervisor tries again."""

    def build() -> str:
        """Always fails."""
        raise Transient("waiting for controller")

    with pytest.raises(Transient):
        once_answered(build, Event(), wait_s=0)


def test_start_that_is_told_to_stop_builds_nothing() -> None:
    """Nobody waits a minute for a process that is no longer wanted."""
    stopping = Event()
    stopping.set()

    assert once_answered(lambda: "worker", stopping) is None

import re
from pathlib import Path

import pytest

from ops.kafka.jars import kafka_version, locked_jars
from ops.kafka.properties import QUICK, SAFE
from processors.__main__ import STAGES
from schemas.settings import Settings
from tests.architecture import ROOT

TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
# Flat `NAME: value` lines are all that is looked at here; the client checks the rest.
VALUES = dict(re.findall(r"^ +([A-Z][A-Z0-9_]+):[ ]*(.*)$", TEXT, re.MULTILINE))


def test_every_setting_reaches_the_containers() -> None:
    """A setting that stops at the container's door is a setting that does nothing."""
    named = {name for name in VALUES if name.startswith("ONEREPLY_")}

    assert named == {f"ONEREPLY_{name.upper()}" for name in Settings.model_fields}


@pytest.mark.parametrize(("option", "value"), [*SAFE.items(), *QUICK.items()])
def test_broker_is_set_like_the_local_one(option: str, value: object) -> None:
    """What the tests run on is what containers run on."""
    name = f"KAFKA_{option.upper().replace('.', '_')}"

    assert VALUES[name].strip('"') == str(value)


def test_broker_is_of_the_version_that_the_tests_run_on() -> None:
    """Fencing and group protocols differ between versions of Kafka."""
    assert f"image: apache/kafka:{kafka_version(locked_jars())}\n" in TEXT


@pytest.mark.parametrize("stage", [*STAGES, "write"])
def test_every_stage_runs(stage: str) -> None:
    """A stage that is missing keeps all that comes after it quiet."""
    assert f'command: ["python", "-m", "processors", "{stage}"]\n' in TEXT


def test_single_copy_is_said_aloud() -> None:
    """Nobody may find out from a lost disk."""
    assert "ONE COPY" in TEXT


def test_image_holds_every_package_and_no_test() -> None:
    """An import that is missing shows only when the container starts."""
    dockerfile = (ROOT / "ops" / "docker" / "Dockerfile").read_text(encoding="utf-8")
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8")

    copied = re.findall(r"^COPY (\w+) \1$", dockerfile, re.MULTILINE)
    assert copied == ["schemas", "ingest", "processors", "ops"]
    assert [name for name in copied if f"!{name}\n" not in ignored] == []


def test_sources_of_the_example_are_what_the_stand_in_serves() -> None:
    """Compose takes its sources from examples/, and the stand-in listens where they say."""
    example = Path(ROOT / "examples" / "onereply.toml").read_text(encoding="utf-8")

    (port,) = re.findall(r'"ops.standin", "--port", "(\d+)"', TEXT)
    assert f'base_url = "http://127.0.0.1:{port}"\n' in example

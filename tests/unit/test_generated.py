import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ops import env_example, record_schemas
from ops.generated import stale_files, write_or_check
from schemas.settings import Settings
from schemas.topics import Topic
from tests.architecture import ROOT, modules
from tests.pages import ALL_PAGES

VARIABLE = re.compile(r"ONEREPLY_[A-Z_]*[A-Z]")
# Why nobody is to set them.
UNLISTED = {
    "ONEREPLY_HALT_AT": "ends a stage at a numbered step; tests of crashes",
    "ONEREPLY_STANDIN_API_KEY": "made anew by each run, for the stand-in provider",
    "ONEREPLY_STANDIN_WEBHOOK_SECRET": "made anew by each run, for the stand-in provider",
    "ONEREPLY_WALL_SHIFT_MS": "puts the wall clock of a stage off; tests of clocks",
}


@pytest.mark.parametrize("made", [env_example, record_schemas], ids=["env", "schemas"])
def test_file_made_from_the_code_is_what_the_code_says(made: Any) -> None:
    """A page that is made once and then kept by hand is wrong within a month."""
    assert stale_files(made.files()) == []


def test_every_setting_stands_in_the_example_with_its_default() -> None:
    """What is not listed is not found."""
    (text,) = env_example.files().values()

    for name, field in Settings.model_fields.items():
        line = f"# ONEREPLY_{name.upper()}={env_example.default_text(field)}"
        assert text.splitlines().count(line) == 1


def test_every_variable_that_is_named_anywhere_is_in_the_example() -> None:
    """A variable that the code reads and no page lists is known to whoever wrote it."""
    (text,) = env_example.files().values()
    listed = set(re.findall(r"^# (ONEREPLY_[A-Z_]+)=", text, re.MULTILINE))
    code = [each.text for each in modules() if not each.is_in("tests")]
    pages = [path.read_text(encoding="utf-8") for path in (*ALL_PAGES, ROOT / "docker-compose.yml")]
    named = {name for page in (*code, *pages) for name in VARIABLE.findall(page)}

    assert named - listed == set(UNLISTED)


def test_every_topic_has_a_schema_or_a_reason() -> None:
    """A data team must not have to guess what a record is."""
    described, other = set(record_schemas.RECORDS), set(record_schemas.WITHOUT)

    assert (described | other, described & other) == (set(Topic), set())


@pytest.mark.parametrize("topic", record_schemas.RECORDS)
def test_schema_describes_every_field_of_its_record(topic: Topic) -> None:
    """A field that is written and not described is a private one that everybody sees."""
    record = record_schemas.RECORDS[topic]
    (text,) = (t for path, t in record_schemas.files().items() if path.stem == f"{topic}.schema")
    schema = msgspec.json.decode(text)
    kinds = getattr(record, "__args__", (record,))

    described = {name: set(each["properties"]) for name, each in schema["$defs"].items()}
    for kind in kinds:
        fields = {field.encode_name for field in msgspec.structs.fields(kind)}
        assert described[kind.__name__] - {"command"} == fields


def test_check_names_stale_files_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A check that mends would hide what was forgotten."""
    monkeypatch.setattr("ops.generated.ROOT", tmp_path)
    wanted = {tmp_path / "page": "new\n"}

    assert write_or_check(wanted, ["--check"], command="make pages") == 1
    assert capsys.readouterr().out == "page: not what the code says; run make pages\n"
    assert not (tmp_path / "page").exists()

    assert write_or_check(wanted, [], command="make pages") == 0
    assert write_or_check(wanted, ["--check"], command="make pages") == 0

"""Requests that broke other receivers, each with the outcome that is right."""

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from tests.doors import DIRECTORY, LocalDoor

CASES: list[dict[str, Any]] = [
    json.loads(line)
    for line in Path(__file__).with_name("door_cases.jsonl").read_text("utf-8").splitlines()
]
# A head that is too long never becomes a delivery: tests/integration/test_ingest_limits.py.
DELIVERIES = [case for case in CASES if case["expected"] != "headers-too-large"]


@pytest.mark.parametrize("case", DELIVERIES, ids=[case["case"] for case in DELIVERIES])
def test_field_case_ends_as_it_should(case: dict[str, Any]) -> None:
    """Each of these was a real fault somewhere: a lost mail, a forged one, or a 500."""
    door = LocalDoor(DIRECTORY, {"SECRET": case["secret"]})
    door.clock.at_s = float(case["clock"])
    body = b64decode(case["body_b64"]) if "body_b64" in case else case["body"].encode()
    headers = [(name.encode(), value.encode()) for name, value in case["headers"].items()]

    reply = door.ask(body, headers=headers)

    assert (reply.reason or "accepted") == case["expected"]
    assert [record.value for record in door.log.records] == ([] if reply.body else [body])

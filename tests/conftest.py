"""What every test may ask for: a real broker, and a prefix that keeps its topics apart."""

import os
import uuid
from collections.abc import Iterator

import pytest

from tests.broker import shared_broker


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Bootstrap servers of a real Kafka: the given one, or one for this test run."""
    if given := os.environ.get("ONEREPLY_BOOTSTRAP_SERVERS"):
        yield given
        return
    run = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        run = run.parent
    with shared_broker(run / "kafka") as servers:
        yield servers


@pytest.fixture
def prefix() -> str:
    """A topic prefix that no other test has: the tests share one broker."""
    return f"t{uuid.uuid4().hex[:12]}-"

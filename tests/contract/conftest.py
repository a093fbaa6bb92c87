"""A stand-in provider for the contract tests: one process a module, reset for each test."""

from collections.abc import Iterator

import httpx
import pytest

from ops.standin.launch import Running, running
from tests.contract.standin_http import INBOX, OTHER_INBOX, client_of


@pytest.fixture(scope="module")
def provider() -> Iterator[Running]:
    """One stand-in process for the module."""
    with running(inboxes=(INBOX, OTHER_INBOX)) as standin:
        yield standin


@pytest.fixture(scope="module")
def client(provider: Running) -> Iterator[httpx.Client]:
    """A client of that process, with a key."""
    with client_of(provider.url) as made:
        yield made


@pytest.fixture
def api(client: httpx.Client) -> httpx.Client:
    """The client of a provider that is as at its start."""
    client.post("/_standin/reset").raise_for_status()
    return client

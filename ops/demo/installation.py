"""The demo's own installation: a folder, free ports, short waits, inboxes, secrets.

Owns: the settings of a demo, and why each differs from production's.
May not: touch a running OneReply, its folder or its ports.
"""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from ops.demo.entries import ROUTES, SECOND_SOURCE, SOURCE
from ops.kafka.ports import free_ports
from ops.kafka.telling import Teller
from ops.run.broker import Broker, GivenBroker, OwnBroker
from ops.run.folder import Folder
from ops.run.plan import Plan
from ops.standin.signing import secret_of
from schemas.settings import load_settings

# Short waits, so that what is waited for fits into two minutes. Their relations are production's.
QUICK: Final[Mapping[str, int]] = {
    "partitions": 2,
    "grace_ms": 1_500,
    "predecessor_wait_ms": 4_000,
    "lease_ms": 3_000,
    "provider_timeout_ms": 2_000,
    "session_timeout_ms": 6_000,
    "transaction_timeout_ms": 5_000,
    "writer_deadline_ms": 3_000,
    "writer_timeout_ms": 6_000,
}
SECRET_VARIABLES: Final = {SOURCE: "DEMO_WEBHOOK_SECRET", SECOND_SOURCE: "DEMO_WEBHOOK_SECRET_TWO"}
KEY_VARIABLE: Final = "DEMO_API_KEY"

TOML: Final = """\
[workspaces.demo]
{sources}
[accounts.standin]
provider = "agentmail"
base_url = "{provider}"
api_key = "{key}"
{inboxes}"""


class Ground(Struct, frozen=True, kw_only=True):
    """Where a demo plays: its folder, where jars lie, and a broker if it is not to start one.

    `commands` replaces what parts run; a test breaks a rule with it.
    """

    folder: Path
    install_dir: Path
    bootstrap_servers: str = ""
    topic_prefix: str = ""
    commands: Mapping[str, tuple[str, ...]] = {}


class Installation(Struct, frozen=True, kw_only=True):
    """A plan that can be started, and the secrets of its sources by name."""

    plan: Plan
    secrets: Mapping[str, str]


def installation(ground: Ground, teller: Teller) -> Installation:
    """A new installation in the folder. Raises OneReplyError."""
    door_port, provider_port = free_ports(2)
    by_source = {name: secret_of(secrets.token_bytes(32)) for name in SECRET_VARIABLES}
    plan = Plan(
        folder=Folder(ground.folder),
        settings=load_settings(**_settings(ground, door_port)),
        broker=_broker(ground, teller),
        provider_port=provider_port,
        environ={
            **_without_ours(os.environ),
            **{SECRET_VARIABLES[name]: secret for name, secret in by_source.items()},
            KEY_VARIABLE: f"am_{secrets.token_urlsafe(32)}",
        },
        commands=ground.commands,
    )
    plan.config.write_text(_toml(plan.provider), encoding="utf-8")
    return Installation(plan=plan, secrets=by_source)


def _settings(ground: Ground, door_port: int) -> dict[str, Any]:
    return {
        **QUICK,
        "bootstrap_servers": ground.bootstrap_servers,
        "topic_prefix": ground.topic_prefix,
        "durability": "single-node",
        "data_dir": str(ground.folder),
        "config_file": str(ground.folder / "onereply.toml"),
        "listen_port": door_port,
        "listen_host": "127.0.0.1",
        "writer": "template",
        "writer_template": "",
        "worker_name": "worker-1",
        "kafka_options": {},
    }


def _broker(ground: Ground, teller: Teller) -> Broker:
    if ground.bootstrap_servers:
        return GivenBroker(ground.bootstrap_servers)
    return OwnBroker(ground.folder, port=None, install_dir=ground.install_dir, teller=teller)


def _without_ours(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if not name.startswith("ONEREPLY_")}


def _toml(provider: str) -> str:
    sources = "\n".join(
        f'[sources.{name}]\nprovider = "agentmail"\nworkspace = "demo"\nsecrets = ["{variable}"]'
        for name, variable in SECRET_VARIABLES.items()
    )
    inboxes = "\n".join(
        f'[inboxes."{name}"]\nworkspace = "demo"\naccount = "standin"\nroute = "{route}"'
        for name, route in ROUTES.items()
    )
    return TOML.format(sources=sources, provider=provider, key=KEY_VARIABLE, inboxes=inboxes)

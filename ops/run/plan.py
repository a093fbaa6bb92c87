"""What a run starts: its parts, their commands, and the environment they share.

Owns: the names of the parts, in the order in which mail goes through them.
May not: start anything.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ops.kafka.properties import HOST
from ops.run.broker import Broker
from ops.run.folder import Folder
from schemas.settings import Settings

DOOR: Final = "ingest"
STAGES: Final = ("dedupe", "fetch", "reorder", "decide", "write", "send")
PROVIDER: Final = "provider"
KAFKA: Final = "kafka"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One run. `commands` replaces what a part runs; a test breaks a rule with it.

    `environ` is what the parts get besides the settings. Secrets come later, and go nowhere else.
    """

    folder: Folder
    settings: Settings
    broker: Broker
    provider_port: int
    environ: Mapping[str, str]
    commands: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def config(self) -> Path:
        """The onereply.toml of this run."""
        return Path(self.settings.config_file)

    @property
    def provider(self) -> str:
        """Where the stand-in provider listens."""
        return f"http://{HOST}:{self.provider_port}"

    def command_of(self, name: str) -> tuple[str, ...]:
        """The module that a part runs, and its arguments."""
        if name in self.commands:
            return self.commands[name]
        if name == PROVIDER:
            state = str(self.folder.mailbox)
            return ("ops.standin", "--port", str(self.provider_port), "--state", state)
        return (name,) if name == DOOR else ("processors", name)


def environ_of(settings: Settings) -> dict[str, str]:
    """The variables that give a process exactly the settings that were set here."""
    return {
        f"ONEREPLY_{name.upper()}": json.dumps(value) if isinstance(value, dict) else str(value)
        for name, value in settings.model_dump(exclude_unset=True).items()
    }

"""What keeps the door shut, and how it says so."""

import socket
from pathlib import Path

import pytest

from schemas.topics import Topic
from tests.door_process import DoorProcess
from tests.doors import DIRECTORY
from tests.logs import corner, environ_of


@pytest.mark.parametrize(
    ("directory", "environ", "said"),
    [
        (DIRECTORY, {"SECRET": ""}, "SECRET holds a key of 0 bytes"),
        (
            DIRECTORY.replace("svix", "x") + 'scheme = "none"\n',
            {},
            "scheme is one of svix, agentdraft",
        ),
        ("", {}, "no source is configured"),
        (DIRECTORY, {"ONEREPLY_MAX_BODY_BYTES": "7"}, "ONEREPLY_MAX_BODY_BYTES"),
        (DIRECTORY, {"ONEREPLY_CONFIG_FILE": "/none.toml"}, "/none.toml cannot be read"),
    ],
    ids=["secret", "file", "no source", "setting", "no file"],
)
def test_settings_that_cannot_work_keep_it_shut(
    tmp_path: Path, *, directory: str, environ: dict[str, str], said: str
) -> None:
    """A door that opens all the same would refuse everybody, in silence."""
    door = DoorProcess(tmp_path, directory=directory, **environ)

    door.start()
    code = door.ended()

    assert code == 2
    assert any(said in line for line in door.lines)


def test_cluster_that_differs_keeps_it_shut(broker: str, prefix: str, tmp_path: Path) -> None:
    """Each difference comes with the command that mends it."""
    door = DoorProcess(tmp_path, **environ_of(corner(broker, prefix)))

    door.start()
    code = door.ended()

    assert code == 1
    assert len([line for line in door.lines if "missing; run" in line]) == len(Topic)


def test_port_in_use_is_one_sentence(tmp_path: Path) -> None:
    """Whoever starts a second door by mistake sees what is wrong."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        door = DoorProcess(tmp_path, ONEREPLY_LISTEN_PORT=port)
        door.start()
        code = door.ended()

    assert code == 1
    assert door.lines == [
        f"127.0.0.1:{port} cannot be opened: Address already in use; set ONEREPLY_LISTEN_PORT"
    ]

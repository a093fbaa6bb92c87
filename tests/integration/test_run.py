"""`onereply run` as a user meets it: up, tried, killed in parts and as a whole, stopped."""

import signal
import socket
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from ops.kafka.cluster import cluster_folder, running
from ops.kafka.ports import free_ports
from ops.run.folder import Folder
from tests.broker import link_jars
from tests.commands import DEADLINE_S, Staying, as_json, onereply, staying

PARTS = ("ingest", "dedupe", "fetch", "reorder", "decide", "write", "send", "provider")


def options_for(folder: Path) -> list[object]:
    """The folder, and ports of its own."""
    door, provider, kafka = free_ports(3)
    ports = ["--door-port", door, "--provider-port", provider, "--kafka-port", kafka]
    return ["--data-dir", folder, *ports]


@pytest.fixture
def options(tmp_path: Path) -> list[object]:
    """A folder and ports of its own."""
    return options_for(tmp_path)


class Up(NamedTuple):
    """A run that is up, and how it was started."""

    command: Staying
    folder: Path
    options: list[object]
    environ: dict[str, str]


@pytest.fixture(scope="module")
def up(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One run for all tests that leave it as they found it, on the tests' broker."""
    folder = tmp_path_factory.mktemp("run")
    options = options_for(folder)
    environ = {
        "ONEREPLY_BOOTSTRAP_SERVERS": broker,
        "ONEREPLY_TOPIC_PREFIX": f"t{uuid.uuid4().hex[:12]}-",
        "ONEREPLY_DURABILITY": "single-node",
        "ONEREPLY_PARTITIONS": "2",
    }
    with staying(*options, **environ) as command:
        command.wait_for("Ctrl-C stops everything")
        yield Up(command, folder, options, environ)


def send_test(folder: Path, *arguments: object) -> tuple[int, dict[str, object]]:
    """The exit code of send-test, and what it says to scripts."""
    told = onereply("send-test", "--json", "--data-dir", folder, *arguments)
    return told.returncode, as_json(told)


def gone(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that still run when the deadline has passed."""
    _, left = psutil.wait_procs(processes, DEADLINE_S)
    return list(left)


def test_customer_is_answered_once_though_the_webhook_comes_twice(up: Up) -> None:
    """The whole path, once: that is what a newcomer sees in the first minute."""
    code, told = send_test(up.folder, "--twice")

    assert (code, told["replies"], told["deliveries"]) == (0, 1, [204, 204])
    assert (told["duplicate"], "thank you" in str(told["reply"])) == ("same-event", True)


def test_event_that_was_answered_before_is_not_answered_again(up: Up) -> None:
    """A provider repeats an event for 27 hours, and an operator a week later."""
    send_test(up.folder, "--event-id", "evt_again")

    code, told = send_test(up.folder, "--event-id", "evt_again")

    assert (code, told["replies"], told["duplicate"]) == (0, 1, "same-event")


def test_mail_that_is_not_answered_says_by_which_rule(up: Up) -> None:
    """No reply is a result, too; why is what one asks next."""
    code, told = send_test(up.folder, "--inbox", "archive@example.com")

    assert (code, told["replies"]) == (1, 0)
    assert told["hint"] == "It was decided: store, by rule route-store."


def test_part_that_is_killed_is_started_again_and_mail_is_answered(up: Up) -> None:
    """What dies at night must work in the morning."""
    up.command.part("processors send").kill()

    up.command.wait_for(r"send was ended by SIGKILL; started again \(1\)")
    up.command.wait_for("send works again")
    assert send_test(up.folder)[0] == 0


def test_secrets_stand_in_no_command_line_and_in_no_output(up: Up) -> None:
    """Everyone on the machine can list command lines, and terminals are pasted into tickets."""
    made = Folder(up.folder).secrets()
    send_test(up.folder)
    logs = sorted(Folder(up.folder).logs.iterdir())

    told = [*up.command.family(), *up.command.lines, *(path.read_text() for path in logs)]
    assert [each for each in told if made.webhook_secret in each or made.api_key in each] == []
    assert {f"{name}.log" for name in PARTS} == {path.name for path in logs}


def test_second_run_in_the_same_folder_says_so(up: Up) -> None:
    """Two would throw each other out of the broker, again and again."""
    told = onereply("run", *up.options, **up.environ)

    assert told.returncode == 3
    assert "already (process" in told.stderr


def test_run_outlives_its_kafka_and_leaves_nothing_when_it_is_killed_itself(
    tmp_path: Path, options: list[object]
) -> None:
    """Kafka is started again with the stages on it; SIGKILL leaves no time to clean up."""
    link_jars(tmp_path)
    with staying(*options) as first:
        first.wait_for("Ctrl-C stops everything")
        first.part("server.properties").kill()
        first.wait_for("kafka works again")
        # The stages come back in any order.
        for _ in range(5):
            first.wait_for("(dedupe|fetch|reorder|decide|send) works again")
        code, _ = send_test(tmp_path)
        started = list(first.family().values())
        first.signal(signal.SIGKILL)
        with staying(*options) as second:
            second.wait_for("Ctrl-C stops everything")
            started += second.family().values()
            second.signal(signal.SIGINT)

            assert (code, second.ended()) == (0, 0)
    assert gone(started) == []
    assert running(tmp_path) == []
    assert Folder(tmp_path).state.exists() is False


def test_ports_in_use_are_all_named_with_the_variables_that_change_them(
    options: list[object],
) -> None:
    """The most common way in which a first start fails; one port a try would be three tries."""
    names = {
        "--door-port": "ONEREPLY_LISTEN_PORT",
        "--provider-port": "ONEREPLY_PROVIDER_PORT",
        "--kafka-port": "ONEREPLY_KAFKA_PORT",
    }
    ports = {option: int(str(options[options.index(option) + 1])) for option in names}
    with ExitStack() as listening:
        for port in ports.values():
            listening.enter_context(socket.create_server(("127.0.0.1", port)))
        told = onereply("run", *options)

    sentences = [
        f"Port {port} on 127.0.0.1: address already in use. "
        f"Stop what listens there, or name another port: {names[option]} ({option})."
        for option, port in ports.items()
    ]
    assert (told.returncode, told.stderr) == (3, "Error: " + "\n".join(sentences) + "\n")


def test_run_with_another_partition_count_than_its_data_starts_nothing(tmp_path: Path) -> None:
    """Kafka would be up and all parts down again before it was said."""
    (cluster_folder(tmp_path) / "node-1" / "data" / "dedupe-state-2").mkdir(parents=True)

    told = onereply("run", *options_for(tmp_path), ONEREPLY_PARTITIONS="4")

    assert (told.returncode, told.stderr.partition(",")[0]) == (
        2,
        "Error: ONEREPLY_PARTITIONS is 4",
    )


def test_missing_network_is_one_sentence(options: list[object]) -> None:
    """The jars come from the network, once; without it the start says so and leaves nothing."""
    told = onereply("run", *options, HTTPS_PROXY="http://127.0.0.1:9")

    assert told.returncode == 3
    assert told.stderr.splitlines()[-1].startswith("Error: No answer from ")


def test_wrong_settings_are_told_by_the_part_that_cannot_use_them(
    options: list[object], up: Up
) -> None:
    """A typing error in a variable must not look like a crash."""
    told = onereply("run", *options, **up.environ, ONEREPLY_WRITER="nowhere:write")

    assert told.returncode == 2
    assert "ONEREPLY_WRITER" in told.stderr.splitlines()[-1]


def test_send_test_without_a_run_says_how_to_start_one(tmp_path: Path) -> None:
    """The second step, tried first."""
    told = onereply("send-test", "--data-dir", tmp_path)

    assert (told.returncode, told.stderr) == (
        3,
        f"Error: No OneReply runs in {tmp_path}. Start it with: make run\n",
    )

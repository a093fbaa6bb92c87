from pathlib import Path

from ops.run.folder import Folder, Running
from ops.standin.launch import running
from tests.pipeline import INBOXES, SECRET, directory
from tests.processes import Process, clean_environ


def test_link_tells_the_stand_in_and_leaves_word_for_others(tmp_path: Path) -> None:
    """In containers nobody else opens the inboxes and registers the webhook."""
    config = tmp_path / "onereply.toml"
    with running() as provider:
        config.write_text(directory(provider.url), encoding="utf-8")
        environ = clean_environ(
            ONEREPLY_DATA_DIR=str(tmp_path),
            ONEREPLY_CONFIG_FILE=str(config),
            ONEREPLY_BOOTSTRAP_SERVERS="kafka:9092",
            ONEREPLY_LISTEN_PORT="8080",
            TEST_SECRET=SECRET,
            AGENTMAIL_API_KEY="am_test",
        )
        with Process("ops.docker.link", provider.url, environ=environ) as link:
            link.start()
            link.wait_for("stand-in told")
            told = Folder(tmp_path).running()
            assert link.terminate() == 0

    assert told == Running(
        pid=told.pid,
        door="http://127.0.0.1:8080",
        provider=provider.url,
        bootstrap_servers="kafka:9092",
        topic_prefix="",
        partitions=4,
        inboxes=dict.fromkeys(INBOXES, "send"),
    )
    assert not Folder(tmp_path).state.exists()

"""The demo: it keeps the promise, and it would notice if the promise were not kept."""

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from ops.demo.installation import Ground
from ops.demo.play import Played, play
from ops.demo.scenario import FATAL
from ops.kafka.telling import Silence
from tests.broken import commands
from tests.broker import DATA_DIR

SEED = 7

Demo = Callable[..., Played]


@pytest.fixture
def demo(tmp_path: Path, broker: str, prefix: str) -> Demo:
    """A demo on the tests' broker, with the stages of one broken rule, or none."""

    def played(rule: str = "") -> Played:
        ground = Ground(
            folder=tmp_path,
            install_dir=DATA_DIR,
            bootstrap_servers=broker,
            topic_prefix=prefix,
            commands=commands(rule) if rule else {},
        )
        return play(ground, Silence(), seed=SEED)

    return played


def test_demo_keeps_the_promise_and_leaves_nothing_behind(demo: Demo) -> None:
    """What it shows is what the project is for; a process that stays would hold its ports."""
    mine = psutil.Process()
    before = {child.pid for child in mine.children(recursive=True)}

    played = demo()

    assert played.differences == ()
    assert {child.pid for child in mine.children(recursive=True)} - before == set()


def test_demo_without_an_idempotency_key_finds_two_mails(demo: Demo) -> None:
    """A sender that dies after its post repeats it: only the key makes one mail of two posts."""
    played = demo("key")

    assert f"{FATAL}: 2 mails" in played.verdict.differences


def test_demo_without_dedupe_finds_mails_too_many(demo: Demo) -> None:
    """A webhook is delivered more than once as a matter of course."""
    played = demo("dedupe")

    assert played.verdict.mails > played.verdict.owed


def test_demo_without_reorder_finds_threads_out_of_order(demo: Demo) -> None:
    """Answers to a conversation that is read backwards are wrong, or never leave."""
    played = demo("reorder")

    assert played.verdict.threads_in_order < played.verdict.threads
    assert played.differences != ()

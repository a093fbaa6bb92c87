"""A stage's process keeps little of what it has freed."""

import os
import platform
import subprocess
import sys
from typing import Final

import pytest

THREADS: Final = 8
PROGRAM: Final = f"""
import ctypes, sys, threading
from processors.runtime.memory import keep_little_memory
if sys.argv[1:] == ["kept little"]:
    assert keep_little_memory()
libc = ctypes.CDLL(None)
ready = threading.Barrier({THREADS} + 1)
def allocate():
    libc.malloc(100_000)
    ready.wait()
threads = [threading.Thread(target=allocate) for _ in range({THREADS})]
for thread in threads:
    thread.start()
ready.wait()
libc.malloc_stats()
"""


def arenas(*arguments: str, **variables: str) -> int:
    """How many arenas a process has whose threads all allocated."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stderr.count("Arena ")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")
class TestMemory:
    """The allocator, asked by its own statistics."""

    def test_threads_share_two_arenas(self) -> None:
        """By default each thread has an arena; told to keep little, a process has two."""
        assert arenas() > 2
        assert arenas("kept little") == 2

    def test_variables_of_who_runs_it_win(self) -> None:
        """A number of arenas that the environment sets is not overruled."""
        assert arenas("kept little", MALLOC_ARENA_MAX="4") == 4

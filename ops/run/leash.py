"""Runs a module that ends with its owner: `python -m ops.run.leash OWNER MODULE ARGUMENT ...`.

Owns: that the module's process is gone once its owner is, however the owner went.
May not: import anything but the standard library, or change what the module sees of its arguments.

On Linux the kernel kills this process when the owner's thread that started it ends. Elsewhere a
thread waits for the owner's end of standard input to close.
"""

import ctypes
import os
import runpy
import signal
import sys
import threading
from typing import Final

# prctl(2): the signal that a process gets when its parent ends.
PR_SET_PDEATHSIG: Final = 1
ORPHANED: Final = 3


def main(arguments: list[str]) -> None:
    """Hold the leash, then be the module."""
    owner, module, *rest = arguments
    if sys.platform != "linux" or not held_by_the_kernel():
        threading.Thread(target=end_with_the_pipe, daemon=True).start()
    # An owner that ended before the kernel was told sends no signal any more.
    if os.getppid() != int(owner):
        sys.exit(ORPHANED)
    sys.argv[:] = [module, *rest]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def held_by_the_kernel() -> bool:
    """Whether the kernel will kill this process when its parent ends."""
    libc = ctypes.CDLL(None)
    return bool(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0)


def end_with_the_pipe() -> None:
    """Wait until standard input closes, then end this process at once."""
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1:])

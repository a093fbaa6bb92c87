"""One node in its folder: formatted once, started, stopped, killed.

Owns: the files of the node's folder and its process.
May not: choose ports or know of other folders.
"""

import shutil
import subprocess
from enum import Enum
from pathlib import Path
from typing import Final

from ops.kafka.errors import BrokerAway, DiskFull
from ops.kafka.fence import fence, has_crashed
from ops.kafka.jvm import Jvm
from ops.kafka.process import BrokerProcess, find_process, mark_of, spawn, write_pid
from ops.kafka.properties import LOG4J2, ClusterPlan, NodeAddress, server_properties
from ops.kafka.room import KEEP_MB, free_mb, full_sentence, require_room
from ops.kafka.watchdog import dismiss, watch

# A format takes a second.
FORMAT_DEADLINE_S: Final = 60.0
# As much of the log's end as can hold the reason of a failed start.
TAIL_BYTES: Final = 64 * 1024
# A line of Kafka's log can hold all of its settings.
REASON_CHARACTERS: Final = 200


class Lifetime(Enum):
    """How long a node runs."""

    OWNED = "until it is stopped or the process that started it is gone"
    DETACHED = "until it is stopped"


class PortTaken(BrokerAway):
    """Another process took the port between the choice and the bind."""


class Node:
    """A node of a cluster."""

    def __init__(self, folder: Path, *, plan: ClusterPlan, address: NodeAddress, jvm: Jvm) -> None:
        self.folder, self.address = folder, address
        self._plan, self._jvm = plan, jvm
        self._child: subprocess.Popen[bytes] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> BrokerProcess | None:
        """The live process, whoever started it."""
        return find_process(self.folder)

    def prepare(self) -> None:
        """Write the node's settings and, when it is new, its log folder. Raises BrokerAway."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._write("log4j2.properties", LOG4J2)
        self._write_properties("server.properties", log_dir="data")
        if not (self.folder / "data").is_dir():
            self._format()

    def start(self, lifetime: Lifetime) -> None:
        """Start the process, unless it runs. It may not answer yet. Raises DiskFull."""
        if self.process:
            return
        require_room(self.folder, needed_mb=KEEP_MB)
        # What a crash left: a child that nobody has waited for, and its watchdog.
        self.kill()
        for name in ("console.log", "server.log"):
            _start_afresh(self.folder / name)
        if self._plan.replicas == 1 and has_crashed(self.folder):
            fence(self.folder, plan=self._plan, address=self.address, jvm=self._jvm)
        self._child = spawn(self._jvm.broker(mark_of(self.folder)), folder=self.folder)
        try:
            write_pid(self.folder, self._child.pid)
            if lifetime is Lifetime.OWNED:
                mark = mark_of(self.folder)
                self._watchdog = watch(BrokerProcess(pid=self._child.pid, mark=mark))
        except BaseException:
            # Without its pid nobody would find it, and two nodes in one folder ruin the metadata.
            self.kill()
            raise

    def require_running(self) -> None:
        """Return when the process runs. Raises BrokerAway with the reason that it logged."""
        # A child of ours is asked by its handle: in the moment in which the kernel replaces this
        # program by Java, a process has no command line, and looks like none of ours.
        is_running = self._child.poll() is None if self._child else self.process is not None
        if not is_running:
            raise self._failure()

    def stop(self, deadline_s: float) -> bool:
        """End the process in good order; whether it had to be killed when the deadline passed."""
        is_gone = True
        if process := self.process:
            process.terminate()
            is_gone = process.wait(deadline_s)
        self.kill()
        return not is_gone

    def kill(self) -> None:
        """End the process at once, as a crash would, and return when it is gone."""
        if self._child:
            self._child.kill()
            self._child.wait()
        elif process := self.process:
            process.kill()
        if self._watchdog:
            dismiss(self._watchdog)
        self._child = self._watchdog = None
        (self.folder / "pid").unlink(missing_ok=True)

    def _failure(self) -> BrokerAway:
        """Why the process ended, from what it logged."""
        told = _tail(self.folder / "console.log") + _tail(self.folder / "server.log")
        port = self.address.port
        if "Address already in use" in told:
            return PortTaken(f"Port {port} was taken while Kafka started: try again.")
        # A log on a full disk may end before its reason.
        if "No space left on device" in told or free_mb(self.folder) < KEEP_MB:
            free = free_mb(self.folder)
            return DiskFull(full_sentence(self.folder, free=free, needed_mb=KEEP_MB))
        errors = [line for line in told.splitlines() if "ERROR" in line or "rror:" in line]
        reason = errors[0].strip()[:REASON_CHARACTERS] if errors else "it gave no reason"
        return BrokerAway(f"Kafka ended while it started ({reason}). Its log: {self.folder}")

    def _format(self) -> None:
        # A format that is interrupted leaves half a folder: only a whole one gets the name.
        shutil.rmtree(self.folder / "data.new", ignore_errors=True)
        self._write_properties("format.properties", log_dir="data.new")
        command = self._jvm.format(self._plan.cluster_id, "format.properties")
        with spawn(command, folder=self.folder) as formatting:
            try:
                code = formatting.wait(FORMAT_DEADLINE_S)
            except BaseException:
                formatting.kill()
                raise
        if code != 0:
            raise self._failure()
        (self.folder / "data.new").rename(self.folder / "data")

    def _write_properties(self, name: str, *, log_dir: str) -> None:
        self._write(name, server_properties(self._plan, self.address, log_dir=log_dir))

    def _write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")


def _tail(log: Path) -> str:
    try:
        return log.read_bytes()[-TAIL_BYTES:].decode(errors="replace")
    except FileNotFoundError:
        return ""


def _start_afresh(log: Path) -> None:
    """Keep one earlier log, so that the reason of a failed start is this start's."""
    if log.exists():
        log.replace(log.with_name(f"{log.name}.before"))

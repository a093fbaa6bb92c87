"""CPU seconds of the processes that a mail passes through.

Owns: finding those that the bench did not start itself: whoever listens at their port.
May not: measure a process of another machine; it has no row then.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

import psutil

from tests.pipeline import Pipeline


def watched(whole: Pipeline, servers: str) -> dict[str, psutil.Process]:
    """The processes by name: door, stages, stand-in, and the broker where it runs here."""
    found = {name: psutil.Process(process.pid) for name, process in whole.processes.items()}
    ports = {"standin": urlsplit(whole.standin).port, "kafka": urlsplit(f"//{servers}").port}
    listeners = {
        each.laddr.port: each.pid
        for each in psutil.net_connections("tcp")
        if each.status == psutil.CONN_LISTEN and each.pid
    }
    return found | {
        name: psutil.Process(listeners[port]) for name, port in ports.items() if port in listeners
    }


def cpu_s(processes: Mapping[str, psutil.Process]) -> dict[str, float]:
    """CPU seconds that each has used so far."""
    times = {name: process.cpu_times() for name, process in processes.items()}
    return {name: used.user + used.system for name, used in times.items()}

import socket

import pytest

from ops.kafka.ports import free_ports
from ops.run.ports import Port, require_ports
from schemas.errors import SettingsError, Transient

HOST = "127.0.0.1"


def test_ports_that_differ_and_are_free_are_fine() -> None:
    """The normal start."""
    one, other = free_ports(2)

    require_ports([Port(HOST, one, "A", "--a"), Port(HOST, other, "B", "--b")])


def test_any_free_port_may_be_asked_for_twice() -> None:
    """Zero is no port, but a wish for one."""
    require_ports([Port(HOST, 0, "A", "--a"), Port(HOST, 0, "B", "--b")])


def test_one_port_for_two_is_a_setting_to_mend() -> None:
    """Each of them is free when it is looked at, and the second part fails late."""
    (port,) = free_ports(1)

    with pytest.raises(SettingsError) as caught:
        require_ports([Port(HOST, port, "A", "--a"), Port(HOST, port, "B", "--b")])

    assert caught.value.problems == (f"A and B are both {port}: each needs its own port.",)


def test_every_taken_port_is_named() -> None:
    """One at a time would be one try for each."""
    with socket.create_server((HOST, 0)) as one, socket.create_server((HOST, 0)) as other:
        numbers = [each.getsockname()[1] for each in (one, other)]
        ports = [Port(HOST, number, "A", "--a") for number in numbers]
        with pytest.raises(Transient) as caught:
            require_ports(ports)

    assert str(caught.value).splitlines() == [
        f"Port {number} on 127.0.0.1: address already in use. Stop what listens there, or name "
        "another port: A (--a)."
        for number in numbers
    ]

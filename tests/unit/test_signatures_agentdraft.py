import pytest

from ingest.answers import Reason
from ingest.signatures import BadSecret
from ingest.signatures.agentdraft import AgentDraftVerifier
from tests.doors import NOW_S, LocalDoor
from tests.senders import (
    JSON,
    OTHER_SECRET,
    TEXT_SECRET,
    Delivery,
    a_source,
    agentdraft,
    handed,
    judged,
)

BODY = b'{"type":"event","event_type":"message.received","event_id":"evt_1"}'
SIGNATURE = agentdraft(BODY).headers[0][1].partition(b"v1=")[2]
TIME = b"t=%d" % NOW_S


def saying(header: bytes) -> Delivery:
    """The body with this signature header."""
    return Delivery([(b"x-agentdraft-signature", header), JSON], BODY)


def test_published_vector_is_accepted() -> None:
    """A vector from elsewhere keeps the verifier and this file from being wrong together."""
    mac = b"352d5d84c08a16982f964b603e1c2e00bf34bcb590823af6dc5a47c216781947"

    assert (
        judged(
            AgentDraftVerifier(["shh-secret"]),
            saying(b"t=1764500000,v1=" + mac),
            now_s=1_764_500_000,
        )
        == ""
    )


@pytest.mark.parametrize("secret", [TEXT_SECRET, OTHER_SECRET])
def test_either_secret_of_a_rotation_is_accepted(secret: str) -> None:
    """For a while deliveries come that were signed with the old one, and some with the new one."""
    verifier = AgentDraftVerifier([OTHER_SECRET, TEXT_SECRET + "\n"])

    assert judged(verifier, agentdraft(BODY, secret=secret)) == ""


@pytest.mark.parametrize(
    "header",
    [
        TIME + b",v1=00,v1=" + SIGNATURE,
        b"v1=" + SIGNATURE + b"," + TIME,
        TIME + b", v1=" + SIGNATURE,
        TIME + b",v0=00,v1=" + SIGNATURE + b",v2=x",
    ],
)
def test_order_space_and_other_versions_do_not_matter(header: bytes) -> None:
    """A second signature stands there while a secret is rotated."""
    assert judged(AgentDraftVerifier([TEXT_SECRET]), saying(header)) == ""


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (b"", Reason.SIGNATURE_MISSING),
        (b"v1=" + SIGNATURE, Reason.SIGNATURE_MALFORMED),
        (TIME + b"," + TIME + b",v1=" + SIGNATURE, Reason.SIGNATURE_MALFORMED),
        (b"t=1e9,v1=" + SIGNATURE, Reason.SIGNATURE_MALFORMED),
        (b"t= %d,v1=%s" % (NOW_S, SIGNATURE), Reason.SIGNATURE_MALFORMED),
        (b"x" * 3000, Reason.SIGNATURE_MALFORMED),
        (TIME, Reason.SIGNATURE_WRONG),
        (TIME + b",v1=" + SIGNATURE.upper(), Reason.SIGNATURE_WRONG),
        (TIME + b",v1=\xe9", Reason.SIGNATURE_WRONG),
        (TIME + b",v2=" + SIGNATURE, Reason.SIGNATURE_WRONG),
    ],
)
def test_anything_else_is_refused_with_its_reason(header: bytes, reason: str) -> None:
    """One time, and the exact signature of a version that we know."""
    assert judged(AgentDraftVerifier([TEXT_SECRET]), saying(header)) == reason


@pytest.mark.parametrize(
    ("age_s", "outcome"),
    [
        (301, Reason.SIGNATURE_TOO_OLD),
        (300, ""),
        (-300, ""),
        (-301, Reason.SIGNATURE_TOO_NEW),
    ],
)
def test_time_may_be_off_by_five_minutes_either_way(age_s: int, outcome: str) -> None:
    """An old capture is no proof, and neither is one from the future."""
    delivery = agentdraft(BODY, at_s=NOW_S - age_s)

    assert judged(AgentDraftVerifier([TEXT_SECRET]), delivery) == outcome


def test_changed_body_is_refused() -> None:
    """What is stored is what the sender signed."""
    delivery = agentdraft(BODY)._replace(body=BODY + b" ")

    assert judged(AgentDraftVerifier([TEXT_SECRET]), delivery) == Reason.SIGNATURE_WRONG


@pytest.mark.parametrize("secret", ["", " \n", "short"])
def test_secret_that_is_mistyped_is_refused(secret: str) -> None:
    """An empty key is one that anybody can sign with."""
    with pytest.raises(BadSecret):
        AgentDraftVerifier([secret])


def test_event_is_kept_under_the_id_in_its_body() -> None:
    """The header's time is the attempt's: an id made from it would be new each time."""
    door = LocalDoor(a_source("agentdraft", "agentdraft"), {"SECRET": TEXT_SECRET})
    bodies = [b'{"type":"x","id":"7"}', b'{"type":"x","id":"7","event_id":"evt_7"}']

    statuses = [handed(door, agentdraft(body)).status for body in bodies]

    assert statuses == [204, 204]
    assert [record.key for record in door.log.records] == [b"a/7", b"a/evt_7"]
    assert {dict(each.headers)["onereply-proof"] for each in door.log.records} == {b"body"}

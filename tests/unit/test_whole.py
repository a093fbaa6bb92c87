"""A record that names a blob, before DEDUPE decides on it."""

from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from processors.core.turn import Record
from processors.whole import weight, whole
from schemas.blobs import BlobGone, BlobStore, BodySum, reference_to
from schemas.codec import to_json
from schemas.errors import Refused, Transient
from schemas.headers import BODY
from schemas.keys import EventKey
from tests.payloads import a_mail_body
from tests.turns import NOW_MS

MAIL = a_mail_body()
REFERENCE = reference_to(
    BodySum(len(MAIL), sha256(MAIL).hexdigest()),
    of=EventKey("support/evt_1"),
    folder="cluster/inbound-events",
    on=date(2026, 1, 5),
)


def a_record(value: bytes | None = to_json(REFERENCE), **headers: bytes | None) -> Record:
    """A record at the door, by default one whose body lies in the store."""
    given = headers or {BODY: b"blob"}
    return Record("inbound-events", 0, 7, b"support/evt_1", value, tuple(given.items()), NOW_MS)


def a_store(folder: Path, **kept: Any) -> BlobStore:
    """A store that holds the mail, or these parts in its place."""
    store = BlobStore(str(folder))
    store.keep(REFERENCE, iter([MAIL]), **kept)
    return store


def test_body_in_the_store_takes_the_place_of_its_reference(tmp_path: Path) -> None:
    """What is decided on is what came, byte for byte; where it lay stays with the record."""
    record = a_record()

    assert whole(record, a_store(tmp_path)) == record._replace(value=MAIL)
    assert weight(record) == len(MAIL)


@pytest.mark.parametrize("value", [MAIL, None, b"", to_json(REFERENCE)])
def test_record_that_names_no_blob_is_left_alone(tmp_path: Path, value: bytes | None) -> None:
    """A body that only looks like a reference is a body: a stranger may have written it."""
    record = a_record(value, ce_id=b"evt_1")

    assert whole(record, a_store(tmp_path)) is record
    assert weight(record) == 0


@pytest.mark.parametrize("value", [b"{}", b"", b"\xff", b'{"address":"/etc/passwd"}'])
def test_reference_that_is_none_is_refused(tmp_path: Path, value: bytes) -> None:
    """It can be set aside; to read it again cannot help."""
    with pytest.raises(Refused):
        whole(a_record(value), a_store(tmp_path))
    assert weight(a_record(value)) == 0


def test_body_that_is_kept_in_an_unknown_way_is_refused(tmp_path: Path) -> None:
    """A newer door must not be read by an older stage as if it were the body."""
    with pytest.raises(Refused, match="not known"):
        whole(a_record(**{BODY: b"tape"}), a_store(tmp_path))


def test_missing_blob_and_missing_store_are_two_things(tmp_path: Path) -> None:
    """One is a dead letter, and the other is waited for."""
    store = a_store(tmp_path / "blobs")
    store.remove(REFERENCE.address)

    with pytest.raises(BlobGone):
        whole(a_record(), store)
    with pytest.raises(Transient):
        whole(a_record(), BlobStore(str(tmp_path / "elsewhere")))

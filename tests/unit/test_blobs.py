"""Where large bodies lie: what is kept is what comes back, or an error that says which."""

from collections.abc import Iterator
from datetime import date
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace

from schemas.blobs import BlobGone, BlobReference, BlobStore, BodySum, reference_to, store_of
from schemas.errors import Refused, SettingsError, Transient
from schemas.keys import EventKey
from schemas.settings import load_settings

DAY = date(2026, 1, 5)
FOLDER = "cluster/inbound-events"


def a_reference(body: bytes, *, key: str = "support/evt_1", on: date = DAY) -> BlobReference:
    """Where this body of that event belongs."""
    known = BodySum(len(body), sha256(body).hexdigest())
    return reference_to(known, of=EventKey(key), folder=FOLDER, on=on)


@pytest.fixture(params=["folder", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> BlobStore:
    """An empty store of either kind: a folder, or anything else that fsspec knows."""
    url = tmp_path / "blobs" if request.param == "folder" else f"memory://{tmp_path}"
    return BlobStore(str(url))


def test_what_is_kept_comes_back_byte_for_byte(store: BlobStore) -> None:
    """It is a customer's mail, and its signature covers every byte."""
    body = bytes(range(256)) * 5000
    reference = a_reference(body)

    store.keep(reference, iter([body[:7], b"", body[7:]]))

    assert store.read(reference) == body


def test_repeat_is_kept_in_the_same_place(store: BlobStore) -> None:
    """A provider that repeats a large mail must not fill the store."""
    for _ in range(3):
        store.keep(a_reference(b"x"), iter([b"x"]))

    assert store.days(FOLDER) == {DAY: [a_reference(b"x").address]}


def test_other_events_bodies_and_days_lie_elsewhere() -> None:
    """One that is removed must not take another with it."""
    places = {
        a_reference(b"x").address,
        a_reference(b"y").address,
        a_reference(b"x", key="support/evt_2").address,
        a_reference(b"x", on=date(2026, 1, 6)).address,
    }

    assert len(places) == 4


def test_missing_blob_is_gone(store: BlobStore) -> None:
    """No repeat brings it back: its record has to be set aside."""
    store.keep(a_reference(b"x"), iter([b"x"]))

    with pytest.raises(BlobGone, match="missing"):
        store.read(a_reference(b"y"))


@pytest.mark.parametrize("altered", [b"", b"z", b"xx"])
def test_altered_blob_is_gone(store: BlobStore, altered: bytes) -> None:
    """What the sender signed is passed on, or nothing."""
    store.keep(a_reference(b"x"), iter([altered]))

    with pytest.raises(BlobGone, match="not what was kept"):
        store.read(a_reference(b"x"))


def test_store_that_is_not_there_is_waited_for(store: BlobStore) -> None:
    """A disk that is not mounted must not make a dead letter of every large mail."""
    with pytest.raises(Transient):
        store.read(a_reference(b"x"))


def test_store_that_takes_nothing_is_transient(tmp_path: Path) -> None:
    """The sender is told to come again."""
    (tmp_path / "file").touch()

    with pytest.raises(Transient):
        BlobStore(str(tmp_path / "file" / "blobs")).keep(a_reference(b"x"), iter([b"x"]))


def test_body_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    """Half a blob under a whole one's name would be taken for the whole."""
    store = BlobStore(str(tmp_path))

    def parts() -> Iterator[bytes]:
        yield b"x"
        raise OSError

    with pytest.raises(Transient):
        store.keep(a_reference(b"xy"), parts())

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    "address",
    ["", "/etc/passwd", f"../{FOLDER}", a_reference(b"x").address.replace("cluster", "..")],
)
def test_address_outside_of_the_store_is_refused(store: BlobStore, address: str) -> None:
    """Whoever can write a record must not choose what a stage reads."""
    with pytest.raises(Refused):
        store.read(replace(a_reference(b"x"), address=address))


def test_what_was_removed_is_no_longer_listed(store: BlobStore) -> None:
    """And removing it again is no error: two sweeps may meet."""
    reference = a_reference(b"x")
    store.keep(reference, iter([b"x"]))

    store.remove(reference.address)
    store.remove(reference.address)

    assert store.days(FOLDER) in ({}, {DAY: []})


def test_url_that_nobody_can_read_is_a_setting_to_mend() -> None:
    """At the start, and not with the first large mail."""
    with pytest.raises(SettingsError, match="ONEREPLY_BLOB_URL"):
        BlobStore("nonsense://x")


def test_store_lies_in_the_data_folder_unless_it_is_named(tmp_path: Path) -> None:
    """One machine needs no setting."""
    own = store_of(load_settings(data_dir=str(tmp_path)))
    named = store_of(load_settings(data_dir=str(tmp_path), blob_url="/elsewhere"))

    assert (own.url, named.url) == (str(tmp_path / "blobs"), "/elsewhere")

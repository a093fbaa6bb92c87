"""Bodies that are too large for a record: in a store beside the log, named by the record.

Owns: where a blob lies, that it is durable once it is kept, and that what is read is what was kept.
May not: know what is in a blob, or remove one that a record may still name: see ops/blobs.py.
"""

import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec

from schemas.codec import Codec
from schemas.errors import Refused, SettingsError, Transient
from schemas.keys import EventKey
from schemas.settings import Settings
from schemas.topics import Topic

# Parts in which a body is copied: large enough for a disk, small enough for a common budget.
PART_BYTES: Final = 256 * 1024

_ADDRESS: Final = re.compile(
    r"[A-Za-z0-9_-]+/[a-z0-9-]+/[0-9]{4}-[0-9]{2}-[0-9]{2}/[0-9a-f]{64}-[0-9a-f]{64}"
)


class BlobReference(msgspec.Struct, frozen=True, kw_only=True):
    """The value of a record whose body lies in the store. `address` is relative to the store."""

    address: str
    size_bytes: int
    sha256: str


BLOB_REFERENCE: Final = Codec[BlobReference](BlobReference)


class BlobGone(Refused):
    """A blob that is missing, or is not what was kept: no repeat brings it back."""


def folder_of(cluster_id: str, topic: str) -> str:
    """Where the blobs of one topic of one cluster lie, so that a store can be shared."""
    return f"{cluster_id}/{topic}"


class BodySum(msgspec.Struct, frozen=True):
    """How long a body is, and its SHA-256 in hex."""

    size_bytes: int
    sha256: str


def reference_to(body: BodySum, *, of: EventKey, folder: str, on: date) -> BlobReference:
    """The reference to an event's body that is kept in a topic's folder on a day (UTC).

    The same body of the same event gets the same address on that day, so that a repeat costs no
    room; on a later day another one, so that nobody writes where a sweep removes.
    """
    name = f"{sha256(of.encode()).hexdigest()}-{body.sha256}"
    return BlobReference(
        address=f"{folder}/{on.isoformat()}/{name}", size_bytes=body.size_bytes, sha256=body.sha256
    )


def checked(reference: BlobReference) -> BlobReference:
    """The reference, if it can be one of ours. Raises Refused, for no path may leave the store."""
    if not _ADDRESS.fullmatch(reference.address) or not reference.address.endswith(
        reference.sha256
    ):
        raise Refused("no address of a blob")
    return reference


class BlobStore:
    """A folder, or whatever else fsspec knows by its URL.

    Each call blocks, and may be made from any thread. Raises Transient while the store is out of
    reach, full, or not allowed.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        try:
            from fsspec.core import url_to_fs  # noqa: PLC0415  # half a second that few processes need

            self._fs, self._root = url_to_fs(url)
        except (ValueError, ImportError) as error:
            raise SettingsError(
                [f"ONEREPLY_BLOB_URL: {url.partition('://')[0]}:// cannot be used here: {error}"]
            ) from error
        self._is_local = "file" in _protocols(self._fs)

    def keep(self, reference: BlobReference, parts: Iterable[bytes]) -> None:
        """Return once the parts are durable under that address; half of them never stand there."""
        path = self._path(reference.address)
        try:
            if self._is_local:
                self._keep_in_folder(path, parts)
            else:
                with self._fs.open(path, "wb") as file:
                    file.writelines(parts)
        except Exception as error:
            raise self._away(error) from error

    def read(self, reference: BlobReference) -> bytes:
        """The body, exactly. Raises BlobGone when it is missing or altered."""
        path = self._path(checked(reference).address)
        try:
            # Looked at first: what was altered may be of any size.
            is_whole = self._fs.info(path)["size"] == reference.size_bytes
            body: bytes = self._fs.cat_file(path) if is_whole else b""
        except FileNotFoundError as error:
            self._require_folder(reference.address)
            raise BlobGone(f"blob {reference.address} is missing") from error
        except Exception as error:
            raise self._away(error) from error
        if sha256(body).hexdigest() != reference.sha256:
            raise BlobGone(f"blob {reference.address} is not what was kept")
        return body

    def days(self, folder: str) -> dict[date, list[str]]:
        """The addresses in a topic's folder by the day on which they were kept."""
        try:
            self._fs.invalidate_cache()
            return dict(self._days(folder))
        except Exception as error:
            raise self._away(error) from error

    def remove(self, address: str) -> None:
        """Remove what lies there, if it still does."""
        try:
            self._fs.rm_file(self._path(address))
        except FileNotFoundError:
            return
        except Exception as error:
            raise self._away(error) from error

    def _path(self, address: str) -> str:
        return f"{self._root}/{address}"

    def _away(self, error: Exception) -> Transient:
        # An error's own words may hold a signed URL.
        return Transient(f"the store of large bodies does not answer: {type(error).__name__}")

    def _require_folder(self, address: str) -> None:
        """A folder that is not mounted must not make a dead letter of every large mail."""
        folder = self._path("/".join(address.split("/")[:2]))
        try:
            self._fs.info(folder)
        except FileNotFoundError as error:
            raise Transient(f"the store of large bodies has no folder {folder}") from error
        except Exception as error:
            raise self._away(error) from error

    def _keep_in_folder(self, path: str, parts: Iterable[bytes]) -> None:
        folder, part = Path(path).parent, f"{path}.part-{secrets.token_hex(8)}"
        self._fs.makedirs(str(folder), exist_ok=True)
        try:
            with self._fs.open(part, "wb") as file:
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
            self._fs.mv(part, path)
        except BaseException:
            with suppress(OSError):
                self._fs.rm_file(part)
            raise
        # The name has to be durable as well, and so have the folders that may be new: those of the
        # day, the topic, the cluster and the store.
        for each in (folder, *list(folder.parents)[:4]):
            _sync_folder(each)

    def _days(self, folder: str) -> Iterator[tuple[date, list[str]]]:
        root = self._path(folder)
        try:
            listed = self._fs.ls(root, detail=False)
        except FileNotFoundError:
            return
        for each in listed:
            name = each.rstrip("/").rpartition("/")[2]
            try:
                day = date.fromisoformat(name)
            except ValueError:
                continue
            found = self._fs.ls(f"{root}/{name}", detail=False)
            yield day, [f"{folder}/{name}/{path.rpartition('/')[2]}" for path in found]


def store_of(settings: Settings) -> BlobStore:
    """The store that these settings name. Raises SettingsError."""
    return BlobStore(settings.blob_url or str(Path(settings.data_dir).absolute() / "blobs"))


def folder_in(settings: Settings, cluster_id: str) -> str:
    """Where the blobs of this installation's inbound events lie on that cluster."""
    return folder_of(cluster_id, settings.shape().name(Topic.INBOUND_EVENTS))


def _protocols(filesystem: Any) -> tuple[str, ...]:
    given = filesystem.protocol
    return (given,) if isinstance(given, str) else tuple(given)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

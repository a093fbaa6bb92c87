"""One partition's rows on disk: RocksDB, through rocksdict.

Owns: the library (nobody else imports it) and its options.
May not: hold a row that Kafka did not commit: the loop writes here only after a commit.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from rocksdict import (
    BlockBasedOptions,
    Cache,
    Options,
    Rdict,
    ReadOptions,
    WriteBatch,
    WriteBufferManager,
    WriteOptions,
)

from processors.runtime.rows import META_KEY, StoreMeta, meta_of, packed
from schemas.errors import Transient

WRITE_BUFFER_BYTES: Final = 16 * 1024 * 1024
# Of all stores together: twelve partitions with two buffers each would come to 384 MiB.
WRITE_BUFFERS_BYTES: Final = 96 * 1024 * 1024
# Rows are found by whole keys: ten bits a key keep disk reads for absent keys near one percent.
BLOOM_BITS: Final = 10


class StoreError(Transient):
    """The disk or RocksDB refused. The stage stops: there is no going on without its memory."""


class StoreCache:
    """The memory that all stores of a process share.

    What was read of their files, bounded by a setting, and what is not in a file yet.
    """

    def __init__(self, size_bytes: int) -> None:
        self.cache = Cache(size_bytes)
        self.buffers = WriteBufferManager(WRITE_BUFFERS_BYTES, allow_stall=False)

    def options(self) -> Options:
        """RocksDB options for one store."""
        table = BlockBasedOptions()
        table.set_block_cache(self.cache)
        table.set_bloom_filter(BLOOM_BITS, block_based=False)
        table.set_cache_index_and_filter_blocks(True)  # RocksDB's own switch
        options = Options(raw_mode=True)
        options.create_if_missing(True)  # noqa: FBT003  # RocksDB's own switch
        options.set_block_based_table_factory(table)
        options.set_write_buffer_size(WRITE_BUFFER_BYTES)
        options.set_max_write_buffer_number(2)
        options.set_write_buffer_manager(self.buffers)
        options.set_keep_log_file_num(2)
        options.set_max_open_files(256)
        return options


class Store:
    """One partition's rows. Opening it twice at the same time fails: RocksDB locks its folder."""

    def __init__(self, path: Path, cache: StoreCache) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._db = Rdict(str(path), cache.options())
        except Exception as error:
            raise StoreError(f"store {path} cannot be opened: {error}") from error
        self._logged, self._unlogged = WriteOptions(), WriteOptions()
        self._unlogged.disable_wal = True  # type: ignore[method-assign,assignment]  # the library types its switch as a method

    def get(self, key: bytes) -> bytes | None:
        """The row's bytes, or None. Raises StoreError."""
        try:
            value: bytes | None = self._db.get(key)
        except Exception as error:
            raise self._failed("read", error) from error
        return value

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The rows' bytes in the order of the keys, in one call. Raises StoreError."""
        try:
            values: Any = self._db.get(list(keys))
        except Exception as error:
            raise self._failed("read", error) from error
        return list(values)

    def scan(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Rows from start up to but not including stop, in key order. Raises StoreError."""
        try:
            yield from self._scan(start, stop)
        except GeneratorExit:
            raise
        except Exception as error:
            raise self._failed("read", error) from error

    def _scan(self, start: bytes, stop: bytes) -> Iterator[tuple[bytes, bytes]]:
        options = ReadOptions()
        options.set_iterate_upper_bound(stop)
        rows: Any = self._db.iter(options)
        rows.seek(start)
        while rows.valid():
            yield rows.key(), rows.value()
            rows.next()

    def meta(self) -> StoreMeta | None:
        """What the store knows of itself, or None when it is new or cannot say."""
        return meta_of(self.get(META_KEY))

    def write(self, rows: Iterable[tuple[bytes, bytes | None]], meta: StoreMeta) -> None:
        """Write rows (None deletes) and where the changelog stands, all or nothing.

        Raises StoreError, a full disk included.
        """
        self._write(rows, meta, how=self._logged)

    def restore(self, rows: Iterable[tuple[bytes, bytes | None]], meta: StoreMeta) -> None:
        """The same without a log of its own, for rows that the changelog still has.

        After a crash the store stands where it stood at some earlier restore. `keep` must be
        called before the next `write`. Raises StoreError.
        """
        self._write(rows, meta, how=self._unlogged)

    def keep(self) -> None:
        """Put all that was restored on disk. Raises StoreError."""
        try:
            self._db.flush()
        except Exception as error:
            raise self._failed("written", error) from error

    def _write(
        self, rows: Iterable[tuple[bytes, bytes | None]], meta: StoreMeta, *, how: WriteOptions
    ) -> None:
        batch = WriteBatch(raw_mode=True)
        for key, value in rows:
            if value is None:
                batch.delete(key)
            else:
                batch.put(key, value)
        batch.put(META_KEY, packed(meta))
        try:
            self._db.write(batch, how)
        except Exception as error:
            raise self._failed("written", error) from error

    def _failed(self, what: str, error: Exception) -> StoreError:
        if is_damage(str(error)):
            # A block is checked when it is read, maybe days after the store was opened. The next
            # opening must know, or it would find the folder whole and stop at this block again.
            with suppress(OSError):
                _damage_note(self.path).write_text(str(error), encoding="utf-8")
        return StoreError(f"store {self.path} cannot be {what}: {error}")

    def close(self) -> None:
        """Let go of the folder. Raises StoreError."""
        try:
            self._db.close()
        except Exception as error:
            raise self._failed("closed", error) from error


def open_store(path: Path, cache: StoreCache) -> tuple[Store, str | None]:
    """The store in that folder, and why it had to be emptied first, if it had.

    Damaged files are no loss: everything in a store can be read again from its changelog.
    """
    note = _damage_note(path)
    if note.exists():
        store, damage = _emptied(path, cache), note.read_text(encoding="utf-8")
        note.unlink()
        return store, f"damaged: {damage}"
    try:
        store = Store(path, cache)
        store.meta()
    except StoreError as error:
        if not is_damage(str(error.__cause__)):
            raise
        return _emptied(path, cache), f"damaged: {error}"
    return store, None


def _damage_note(path: Path) -> Path:
    return path.with_name(f"{path.name}.damaged")


def _emptied(path: Path, cache: StoreCache) -> Store:
    empty_store(path)
    return Store(path, cache)


def is_damage(sentence: str) -> bool:
    """Whether RocksDB speaks of damaged files, rather than of a lock or a full disk.

    Paths stand in its sentences: a folder may be called anything, and a disk may be full while the
    manifest is written.
    """
    is_manifest_gone = "No such file" in sentence and "MANIFEST" in sentence
    return sentence.startswith("Corruption") or is_manifest_gone


def empty_store(path: Path) -> None:
    """Remove the folder of a store that is not open. Raises StoreError."""
    with suppress(FileNotFoundError):
        try:
            shutil.rmtree(path)
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                raise StoreError(f"store {path} cannot be removed: {error}") from error

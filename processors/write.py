"""WRITE: a Faust app, the place for slow, concurrent, user-written code.

Owns: the app with its one agent, and the life of the process.
May not: keep anything. The ask lives in SEND's ledger, so a request lost here is asked again, and
of a request answered twice the first text wins.
"""

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import faust
from aiokafka.errors import KafkaError
from faust.exceptions import FaustError

from processors.core.turn import Output, Record
from processors.runtime.watchdog import Watchdog
from processors.writers.answering import STAGE, answer
from processors.writers.faust_options import faust_options
from processors.writers.loading import Writer, load_writer
from processors.writers.quiet import quiet_framework
from processors.writers.transport import WriterTransport
from schemas.directory import Directory
from schemas.errors import Transient
from schemas.headers import REPLAY, header
from schemas.settings import Settings
from schemas.topics import Topic

LOG = logging.getLogger("processors.write")

# Cancelled writers and a last commit take milliseconds; only a broker that is away takes longer.
STOP_DEADLINE_S: Final = 5.0
# Then the framework's own threads and tasks are cut off. They were seen to hang for minutes where
# the broker had gone.
LEAVE_DEADLINE_S: Final = 12.0

IsStopping = Callable[[], bool]


def _never() -> bool:
    return False


def run(settings: Settings, directory: Directory, is_stopping: IsStopping = _never) -> int:
    """Answer writer requests until SIGTERM or SIGINT; the exit code.

    `is_stopping` tells of a signal that came before this was ready to take one.

    Raises SettingsError for a writer or options that cannot be used, Transient when the broker
    is away for longer than its clients bear.
    """
    del directory  # every stage is given it; a request brings all that this one needs
    quiet_framework()
    write = load_writer(settings)
    options = faust_options(settings)
    # Faust makes its folder, but not the one above.
    Path(settings.data_dir).mkdir(parents=True, exist_ok=True)
    watchdog = Watchdog(_leave, deadline_s=LEAVE_DEADLINE_S)
    with ExitStack() as leaving:
        asyncio.run(
            _serve(
                lambda: Desk(settings, write, faust.App(**options)),
                is_stopping,
                on_told=lambda: leaving.enter_context(watchdog.watching()),
            )
        )
    watchdog.close()
    LOG.info("stage stopped", extra={"stage": STAGE, "reason": "told to"})
    return 0


def _leave() -> None:
    """End at once. Nothing is lost: what was not answered is asked again."""
    LOG.error("stage left without goodbye", extra={"stage": STAGE, "reason": "its stop hangs"})
    os._exit(3)


async def _serve(
    open_desk: Callable[[], "Desk"], is_stopping: IsStopping, *, on_told: Callable[[], object]
) -> None:
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    if is_stopping():
        return
    desk = open_desk()
    stop, work = asyncio.create_task(told.wait()), asyncio.create_task(desk.work())
    await asyncio.wait((stop, work), return_when=asyncio.FIRST_COMPLETED)
    on_told()
    try:
        async with asyncio.timeout(STOP_DEADLINE_S):
            await desk.close()
    except TimeoutError:
        LOG.warning("stage left without goodbye", extra={"stage": STAGE})
    if stop.done():
        work.cancel()
        # Told to stop: what a half-started app says of it is no news.
        await asyncio.gather(work, return_exceptions=True)
        return
    stop.cancel()
    try:
        await work
    except (KafkaError, FaustError) as error:
        raise Transient(f"broker lost: {type(error).__name__}") from error


class Desk:
    """The app and its agent."""

    def __init__(self, settings: Settings, write: Writer, app: faust.App) -> None:
        self._write = write
        self._deadline = timedelta(milliseconds=settings.writer_deadline_ms)
        self._name_of = settings.shape().name
        self._app = app
        app.transport = WriterTransport(app.conf.broker_consumer, app)
        requests = app.topic(self._name_of(Topic.WRITER_REQUESTS), key_type=bytes, value_type=bytes)
        app.agent(requests, name=STAGE, concurrency=settings.writer_concurrency)(self._agent)

    async def work(self) -> None:
        """Answer requests until closed. Raises what ended the app before."""
        await self._app.start()
        partitions = len(self._app.consumer.assignment())
        LOG.info("stage live", extra={"stage": STAGE, "partitions": partitions})
        await self._app.wait()
        if self._app.crash_reason is not None:
            raise self._app.crash_reason

    async def close(self) -> None:
        """Cancel the writers under way, commit what was answered, leave."""
        await self._app.stop()

    async def _agent(self, stream: Any) -> None:
        # Acknowledged by hand, once the broker has the answer: left to itself, Faust acknowledges
        # the request of a writer that it cancels, too.
        async for event in stream.noack().events():
            try:
                await self._settle(_record(event.message))
            except (KafkaError, FaustError) as error:
                await self._app.crash(error)
                return
            event.ack()

    async def _settle(self, record: Record) -> None:
        if record.value is None:
            LOG.info("deletion skipped", extra=_place(record))
            return
        output = await answer(record, self._write, deadline=self._deadline)
        await self._produce(output)
        if output.topic == Topic.DEAD_LETTERS:
            LOG.warning("request set aside", extra=_place(record))
        else:
            LOG.info("text written", extra=_place(record))

    async def _produce(self, output: Output) -> None:
        headers = list(output.headers)
        if output.mark is not None and header(headers, REPLAY) is None:
            headers.append((REPLAY, output.mark.encode()))
        # Not Topic.send: where that fails it logs the whole record.
        await self._app.producer.send_and_wait(
            self._name_of(output.topic),
            output.key if isinstance(output.key, bytes) else output.key.encode(),
            output.value,
            None,
            None,
            headers,  # type: ignore[arg-type]  # a header without a value is one, too
        )


def _record(message: Any) -> Record:
    headers = tuple(message.headers or ())
    return Record(
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        key=message.key,
        value=message.value,
        headers=headers,
        timestamp_ms=int(message.timestamp * 1000),
        mark=header(headers, REPLAY),
    )


def _place(record: Record) -> dict[str, Any]:
    return {"stage": STAGE, "partition": record.partition, "offset": record.offset}

"""All parts of one run, brought up in order and taken down in order.

Owns: the order. Up: provider, Kafka, topics, stages and door together, webhooks. Down: the door
first, so that nothing new comes in; then the stages, the provider, Kafka last.
May not: leave a process, or decide that a part is started again.
"""

import queue
import time
from collections.abc import Sequence
from itertools import chain
from typing import Final

from ops.kafka.cluster import STOP_DEADLINE_S as KAFKA_STOP_DEADLINE_S
from ops.kafka.errors import BrokerAway
from ops.kafka.telling import Teller
from ops.run.directory import Served, filled_in, hooks_of, read_directory, served_by
from ops.run.ending import AWAY, SETTINGS
from ops.run.logfile import LogFile
from ops.run.memory import require_remembered
from ops.run.part import Ended, Happening, Happenings, Part, Ready
from ops.run.plan import DOOR, KAFKA, PROVIDER, STAGES, Plan, environ_of
from ops.run.provider import Provider
from ops.run.stopping import end_parts
from ops.run.words import ended_sentence, up_line
from ops.topics import asked_topics, made_topics
from schemas.directory import Directory
from schemas.errors import OneReplyError, Permanent, SettingsError, Transient
from schemas.settings import Settings

# Ten times what a start of all parts takes on two idle cores.
START_DEADLINE_S: Final = 90.0


class Pipeline:
    """Everything that a run starts. Not up before `start` has returned."""

    def __init__(self, plan: Plan, teller: Teller) -> None:
        self.plan = plan
        self.settings: Settings = plan.settings
        self.directory: Directory = read_directory(plan.config)
        self.served: Served = served_by(self.directory, plan.provider)
        self.parts: dict[str, Part] = {}
        self.urls: dict[str, str] = {}
        self._teller = teller
        self._happenings: Happenings = queue.SimpleQueue()
        self._secrets: dict[str, str] = {}
        self._started_at: dict[str, float] = {}

    @property
    def door(self) -> str:
        """Where the door listens."""
        return self.urls[DOOR]

    def start(self) -> None:
        """Return when all parts work. Raises OneReplyError; `stop` ends what was started."""
        plan = self.plan
        if self.served.sources:
            made = plan.folder.secrets()
            self._secrets = filled_in(self.directory, self.served, made, environ=plan.environ)
            self.start_parts(PROVIDER)
        self._start_broker()
        if self.served.sources:
            self.wait_ready(PROVIDER)
        self.start_parts(*STAGES, DOOR)
        self.wait_ready(*STAGES, DOOR)
        self._tell_provider()

    def stop(self) -> None:
        """Return when nothing of it runs any more. Safe to repeat."""
        self._end((DOOR,), STAGES, (PROVIDER,))

    def pause(self) -> None:
        """Return when only the provider runs, which is somebody else's where mail is real."""
        self._end((DOOR,), STAGES)

    def kill(self) -> None:
        """End all parts at once; Kafka in good order."""
        for part in self.parts.values():
            part.kill()
        self.plan.broker.stop()

    def start_parts(self, *names: str) -> None:
        """Start these parts; they may not work yet."""
        for name in names:
            if name not in self.parts:
                self.parts[name] = self._part(name)
            self._started_at[name] = time.monotonic()
            self.parts[name].start()

    def wait_ready(self, *names: str, deadline_s: float = START_DEADLINE_S) -> None:
        """Return when these parts say that they work.

        Raises what `failure` says of a part that ended, Transient past the deadline.
        """
        end, waiting = time.monotonic() + deadline_s, dict.fromkeys(names)
        while waiting:
            self._teller.show(f"starting {', '.join(waiting)}")
            match self.next_happening(end - time.monotonic()):
                case Ready(name, _, url) if name in waiting:
                    del waiting[name]
                    seconds = time.monotonic() - self._started_at[name]
                    self._teller.say(up_line(name, url, seconds=seconds))
                case Ended() as ended if ended.name in waiting:
                    raise failure(ended, self.parts[ended.name])
                case None:
                    late, folder = ", ".join(waiting), self.plan.folder.logs
                    raise Transient(f"Not up in {deadline_s:.0f} s: {late}. Logs: {folder}")

    def next_happening(self, deadline_s: float) -> Happening | None:
        """What happens next to the latest process of a part; None when nothing does in time."""
        end = time.monotonic() + deadline_s
        while (left_s := end - time.monotonic()) > 0:
            try:
                happening = self._happenings.get(timeout=left_s)
            except queue.Empty:
                return None
            if happening.start == self.parts[happening.name].starts:
                if isinstance(happening, Ready):
                    self.urls[happening.name] = happening.url
                return happening
        return None

    def provider(self) -> Provider:
        """The provider's control side; the caller closes it."""
        return Provider(self.plan.provider)

    def _part(self, name: str) -> Part:
        # The provider checks no key, and is told each webhook's secret: it gets none of them here.
        secrets = {} if name == PROVIDER else self._secrets
        return Part(
            name,
            self.plan.command_of(name),
            environ={**self.plan.environ, **environ_of(self.settings), **secrets},
            log=LogFile(self.plan.folder.logs / f"{name}.log"),
            tell=self._happenings,
        )

    def _start_broker(self) -> None:
        began = time.monotonic()
        self._teller.show("starting kafka")
        servers = self.plan.broker.start()
        self.settings = self.settings.model_copy(update={"bootstrap_servers": servers})
        started = time.monotonic()
        self._teller.show("making topics")
        require_remembered(self.settings, asked_topics(self.settings))
        made = sum(line.endswith("created") for line in made_topics(self.settings))
        copies = self.settings.shape().replication
        told = f"{made} created, {copies} {'copy' if copies == 1 else 'copies'}"
        # A broker that was given is known to answer only now.
        self._teller.say(up_line(KAFKA, servers, seconds=started - began))
        self._teller.say(up_line("topics", told, seconds=time.monotonic() - started))

    def _tell_provider(self) -> None:
        if not self.served.sources:
            return
        environ = {**self.plan.environ, **self._secrets}
        hooks = hooks_of(self.directory, self.served, environ=environ)
        api_key = self.plan.folder.secrets().api_key
        with self.provider() as provider:
            provider.open_inboxes(tuple(self.served.inboxes))
            provider.have_webhooks(hooks, door=self.door, api_key=api_key)

    def _end(self, *groups: Sequence[str]) -> None:
        """End one group after the other, or all at once where Kafka is away; then Kafka."""
        for names in (tuple(chain(*groups)),) if self._is_kafka_away() else groups:
            parts = [self.parts[name] for name in names if name in self.parts]
            end_parts(parts, is_kafka_away=self._is_kafka_away, teller=self._teller)
        self._teller.show(f"stopping kafka (at most {KAFKA_STOP_DEADLINE_S:.0f} s)")
        self.plan.broker.stop()

    def _is_kafka_away(self) -> bool:
        try:
            self.plan.broker.require_running()
        except BrokerAway:
            return True
        return False


def failure(ended: Ended, part: Part) -> OneReplyError:
    """What a part's end means to a run that cannot do without it."""
    sentence = f"{ended_sentence(ended.name, ended.code, ended.reason)}. Its log: {part.log.path}"
    if ended.code == SETTINGS:
        return SettingsError([sentence])
    return Transient(sentence) if ended.code == AWAY else Permanent(sentence)

"""One outcome for each mail: store, notify, draft, send, hold, quarantine or refuse.

Owns: what a judgement leaves behind: a decision, an audit entry, the mail's words in the thread's
log, and for a reply that is owed an ask and a count in each cap.
May not: judge (rules.py does), write a text, or send. A mail is judged once. A replay asks again
for what was asked and judges the rest anew; it neither reads nor charges a cap.
"""

from processors.core import thread_log
from processors.core.caps import charge
from processors.core.decide_facts import learn
from processors.core.decide_mail import Mail, Seen, findings_of, mail_of, tallies_of
from processors.core.decide_outputs import emit_decision, order
from processors.core.decide_policy import Policy
from processors.core.decide_rows import DECIDED, Decided, remember_decided, set_sweep
from processors.core.rules import ASKED, QUARANTINE, judge
from processors.core.thread_log import LogRow, ThreadRow
from processors.core.turn import Turn
from schemas.commands import AskReply, Decision
from schemas.events import MAIL_KINDS, OrderedEvent


def take(ordered: OrderedEvent, turn: Turn, *, policy: Policy) -> None:
    """Take in the next event of an inbox: judge a mail, learn from a fact."""
    if ordered.event.kind in MAIL_KINDS:
        _decide(mail_of(ordered, policy.directory), turn, policy=policy)
    else:
        learn(ordered, turn, keep_ms=policy.keep_ms)
    set_sweep(turn)


def _decide(mail: Mail, turn: Turn, *, policy: Policy) -> None:
    known = turn.get(DECIDED, mail.reply_key)
    if known is None:
        _judge(mail, turn, policy=policy, before=None)
    elif turn.mark is None or known.is_erased:
        return
    elif known.is_asked:
        _ask_again(mail, known, turn, policy=policy)
    else:
        _judge(mail, turn, policy=policy, before=known)


def _judge(mail: Mail, turn: Turn, *, policy: Policy, before: Decided | None) -> None:
    seen = Seen(
        thread=thread_log.thread_row(turn, mail.thread), tallies=tallies_of(mail, turn, policy)
    )
    rule = judge(findings_of(mail, seen, turn, policy=policy))
    row = Decided(
        inbox_id=mail.event.inbox_id,
        thread_key=mail.thread_key,
        outcome=rule.outcome,
        rule=rule.name,
        is_asked=rule.outcome in ASKED,
        decided_at_ms=turn.now_ms,
        written_ms=turn.stream_ms,
        targets=tuple(each.key for each in mail.answered),
    )
    remember_decided(before, row, turn, reply_key=mail.reply_key, keep_ms=policy.keep_ms)
    _emit_decision(mail, row, turn, before=before)
    # What a stranger's machine wrote to do harm never becomes a writer's context.
    if row.outcome != QUARANTINE:
        thread = _remember_words(mail, seen, turn, row=row, keep_ms=policy.keep_ms)
        if row.is_asked:
            charge(turn, seen.tallies)
            _emit_ask(mail, row, turn, policy=policy, thread=thread)


def _ask_again(mail: Mail, known: Decided, turn: Turn, *, policy: Policy) -> None:
    if mail.inbox is None or mail.inbox.account is None:
        # The inbox left the directory, or nothing can leave the inbox any more.
        return
    _emit_decision(mail, known, turn, before=known)
    thread = thread_log.thread_row(turn, mail.thread) or ThreadRow()
    _emit_ask(mail, known, turn, policy=policy, thread=thread)


def _remember_words(mail: Mail, seen: Seen, turn: Turn, *, row: Decided, keep_ms: int) -> ThreadRow:
    event = mail.event
    logged = LogRow(
        role=thread_log.CUSTOMER,
        place=mail.place,
        id=mail.message_id,
        message_id=mail.message_id,
        sender=event.sender,
        subject=event.subject,
        text=event.text,
        is_late=mail.ordered.late_by_ms is not None,
        is_truncated=event.is_truncated,
    )
    thread = thread_log.with_message(seen.thread, logged, turn, of=mail.thread)
    if row.is_asked:
        thread = thread_log.with_asked(thread, mail.place)
    thread_log.keep_thread(seen.thread, thread, turn, of=mail.thread, keep_ms=keep_ms)
    return thread


def _emit_decision(mail: Mail, row: Decided, turn: Turn, *, before: Decided | None) -> None:
    decision = Decision(
        reply_key=mail.reply_key,
        inbox_id=mail.event.inbox_id,
        message_id=mail.message_id,
        thread_key=mail.thread_key,
        event_key=mail.event.event_key,
        outcome=row.outcome,
        rule=row.rule,
        position=mail.ordered.position,
        decided_at_ms=row.decided_at_ms,
        is_replay=turn.mark is not None,
    )
    emit_decision(decision, turn, before=None if before is None else before.outcome)


def _emit_ask(mail: Mail, row: Decided, turn: Turn, *, policy: Policy, thread: ThreadRow) -> None:
    inbox = mail.inbox
    # Nothing is asked for an inbox that nothing could leave: its route is None then.
    assert inbox is not None  # noqa: S101  # cannot happen
    assert inbox.account is not None  # noqa: S101  # cannot happen
    log, is_whole = thread_log.log_of(thread, turn, of=mail.thread)
    ask = AskReply(
        reply_key=mail.reply_key,
        inbox_id=mail.event.inbox_id,
        outcome=row.outcome,
        rule=row.rule,
        thread_key=mail.thread_key,
        message_id=mail.message_id,
        provider=policy.directory.accounts[inbox.account].provider,
        workspace=inbox.workspace,
        account=inbox.account,
        position=mail.ordered.position,
        event=mail.event,
        log=log,
        is_log_truncated=not is_whole,
    )
    turn.emit_marked(order(ask, turn, ce_id=mail.reply_key)._replace(mark=turn.mark))

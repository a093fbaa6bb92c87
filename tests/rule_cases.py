"""Mails that meet each rule, and mails that meet none: the table of signals, in examples."""

import msgspec

from processors.core.addresses import Address, parse_address
from processors.core.findings import Findings
from processors.core.signals import report_kind
from schemas.events import Verdicts

SUPPORT = Address("support", "inbox.example")


OWN = frozenset({"support@inbox.example", "billing@inbox.example"})


PASSED = Verdicts(spam="pass", virus="pass", dmarc="pass")


def found(**changes: object) -> Findings:
    """A person's question to an inbox that answers."""
    findings = Findings(
        route="send",
        sender=Address("jane", "customer.example"),
        recipient=SUPPORT,
        own=OWN,
        signals={},
        labels=frozenset({"received", "unread"}),
        is_screened=True,
    )
    return msgspec.structs.replace(findings, **changes)


def with_fields(**fields: str | tuple[str, ...]) -> Findings:
    """The same question with these header fields, underscores for hyphens."""
    values = {
        name.replace("_", "-"): (held,) if isinstance(held, str) else held
        for name, held in fields.items()
    }
    paths = tuple(
        path for each in values.get("return-path", ()) if (path := parse_address(each)) is not None
    )
    report = report_kind(values.get("content-type", ()))
    return found(signals=values, return_path=paths, report=report)


def sent_by(sender: str, *reply_to: str) -> Findings:
    """The same question from this sender, with these addresses for answers."""
    parsed = tuple(address for each in reply_to if (address := parse_address(each)))
    return found(sender=parse_address(sender), reply_to=parsed)


# The rows of the table of signals, each with the values that block.
BLOCKED = {
    "null path": ("null-return-path", with_fields(return_path="<>")),
    "null path with space": ("null-return-path", with_fields(return_path=" < > ")),
    "null path with comment": ("null-return-path", with_fields(return_path="<> (bounce)")),
    "empty path": ("null-return-path", with_fields(return_path="")),
    "one null path of two": (
        "null-return-path",
        with_fields(return_path=("<jane@customer.example>", "<>")),
    ),
    "auto-replied": ("auto-submitted", with_fields(auto_submitted="auto-replied")),
    "auto-generated": ("auto-submitted", with_fields(auto_submitted="auto-generated")),
    "auto-notified with parameter": (
        "auto-submitted",
        with_fields(auto_submitted='auto-notified; owner-email="a@b.example"'),
    ),
    "auto-submitted with type": (
        "auto-submitted",
        with_fields(auto_submitted="auto-generated; type=ticket"),
    ),
    "auto-submitted in capitals": ("auto-submitted", with_fields(auto_submitted="AUTO-REPLIED")),
    "comment after": ("auto-submitted", with_fields(auto_submitted="auto-replied (vacation)")),
    "comment before": ("auto-submitted", with_fields(auto_submitted="(robot) auto-replied")),
    "comment that says no": ("auto-submitted", with_fields(auto_submitted="auto-replied (no)")),
    "folded": ("auto-submitted", with_fields(auto_submitted="\r\n auto-replied")),
    "keyword of the future": ("auto-submitted", with_fields(auto_submitted="x-future-keyword")),
    "auto-submitted empty": ("auto-submitted", with_fields(auto_submitted="")),
    "auto-submitted without a value": ("auto-submitted", with_fields(auto_submitted=())),
    "second of two": ("auto-submitted", with_fields(auto_submitted=("no", "auto-replied"))),
    "two joined": ("auto-submitted", with_fields(auto_submitted="no, auto-replied")),
    "comment without end": ("auto-submitted", with_fields(auto_submitted="no (")),
    "quote without end": ("auto-submitted", with_fields(auto_submitted='no (x) "')),
    "list id": ("list", with_fields(list_id="Users <users.lists.example>")),
    "list help": ("list", with_fields(list_help="<mailto:h@lists.example>")),
    "list subscribe": ("list", with_fields(list_subscribe="<mailto:s@lists.example>")),
    "list unsubscribe": ("list", with_fields(list_unsubscribe="<mailto:u@news.example>")),
    "list unsubscribe post": ("list", with_fields(list_unsubscribe_post="One-Click")),
    "list post": ("list", with_fields(list_post="<mailto:users@lists.example>")),
    "list post no": ("list", with_fields(list_post="NO")),
    "list owner": ("list", with_fields(list_owner="<mailto:o@lists.example>")),
    "list archive": ("list", with_fields(list_archive="<https://lists.example>")),
    "list field without a value": ("list", with_fields(list_id=())),
    "bulk": ("precedence", with_fields(precedence="bulk")),
    "junk": ("precedence", with_fields(precedence=" Junk ")),
    "precedence list": ("precedence", with_fields(precedence="list (announce)")),
    "precedence auto_reply": ("precedence", with_fields(precedence="auto_reply")),
    "second precedence": ("precedence", with_fields(precedence=("first-class", "bulk"))),
    "suppress all": ("auto-response-suppress", with_fields(x_auto_response_suppress="All")),
    "suppress autoreply": (
        "auto-response-suppress",
        with_fields(x_auto_response_suppress="DR, AutoReply"),
    ),
    "suppress oof": ("auto-response-suppress", with_fields(x_auto_response_suppress="oof;dr")),
    "mailer-daemon": ("machine-sender", sent_by("MAILER-DAEMON@mx.customer.example")),
    "postmaster": ("machine-sender", sent_by("postmaster@customer.example")),
    "listserv": ("machine-sender", sent_by("listserv@lists.example")),
    "majordomo": ("machine-sender", sent_by("majordomo+x@lists.example")),
    "owner of a list": ("machine-sender", sent_by("owner-users@lists.example")),
    "list's owner": ("machine-sender", sent_by("users-owner@lists.example")),
    "list's request": ("machine-sender", sent_by("users-request@lists.example")),
    "machine in the path": ("machine-sender", with_fields(return_path="<owner-u@lists.example>")),
    "machine in the path without domain": (
        "machine-sender",
        with_fields(return_path="<MAILER-DAEMON>"),
    ),
    "noreply": ("no-reply-sender", sent_by("noreply@shop.example")),
    "no-reply": ("no-reply-sender", sent_by("No-Reply@shop.example")),
    "do-not-reply": ("no-reply-sender", sent_by("do-not-reply@shop.example")),
    "donotreply with tag": ("no-reply-sender", sent_by("donotreply+77@shop.example")),
    "no.reply": ("no-reply-sender", sent_by("no.reply@shop.example")),
    "noreply among others": ("no-reply-sender", sent_by("news-noreply-eu@shop.example")),
    "noreply numbered": ("no-reply-sender", sent_by("noreply2@shop.example")),
    "answers to noreply": ("no-reply-sender", sent_by("a@shop.example", "noreply@shop.example")),
    "delivery report": (
        "bounce",
        with_fields(content_type='Multipart/Report; report-type="delivery-status"; boundary=b'),
    ),
    "delivery status alone": ("bounce", with_fields(content_type="message/delivery-status")),
    "read receipt": (
        "mdn",
        with_fields(content_type="multipart/report; report-type=disposition-notification"),
    ),
    "receipt alone": ("mdn", with_fields(content_type="message/disposition-notification")),
    "feedback report": (
        "feedback-report",
        with_fields(content_type="multipart/report; report-type = feedback-report"),
    ),
    "report of another type": ("report", with_fields(content_type="multipart/report; x=y")),
    "report of an unknown type": (
        "report",
        with_fields(content_type="multipart/report (x); report-type=new"),
    ),
    "failed recipients": (
        "failed-recipients",
        with_fields(x_failed_recipients="jane@customer.example"),
    ),
    "x-autoreply": ("machine-mark", with_fields(x_autoreply="yes")),
    "x-autorespond": ("machine-mark", with_fields(x_autorespond="Re: Question")),
    "x-autoresponder": ("machine-mark", with_fields(x_autoresponder="")),
    "x-autogenerated": ("machine-mark", with_fields(x_autogenerated="Reply")),
    "x-fc-machinegenerated": ("machine-mark", with_fields(x_fc_machinegenerated="true")),
    "x-cron-env": ("machine-mark", with_fields(x_cron_env=("<SHELL=/bin/sh>", "<HOME=/>"))),
    "x-precedence": ("x-precedence", with_fields(x_precedence="auto_reply")),
    "delivered to an autoresponder": ("autoresponder", with_fields(delivered_to="Autoresponder")),
    "loop mark of an inbox": ("own-loop-mark", with_fields(x_loop="Support@inbox.example")),
    "loop mark with tag": ("own-loop-mark", with_fields(x_loop="<support+c9@inbox.example>")),
    "loop mark among others": (
        "own-loop-mark",
        with_fields(x_loop=("other@x.example", "a b billing@inbox.example")),
    ),
    "loop mark of a reply": ("own-loop-mark", with_fields(x_loop="reply-" + "0a" * 32)),
    "from an inbox of ours": ("own-address", sent_by("Billing <billing@inbox.example>")),
    "from an inbox in capitals": ("own-address", sent_by("SUPPORT@INBOX.EXAMPLE")),
    "from an inbox with a tag": ("own-address", sent_by("billing+case9@inbox.example")),
    "answers to an inbox of ours": (
        "own-address",
        sent_by("jane@customer.example", "support@inbox.example"),
    ),
    "path is an inbox of ours": ("own-address", with_fields(return_path="<billing@inbox.example>")),
    "from its own recipient": (
        "own-address",
        found(recipient=Address("jane+x", "customer.example")),
    ),
    "our own message": ("own-message-id", found(has_own_id=True)),
    "a hundred hops": ("hops", with_fields(received=("from a by b",) * 100)),
    "nobody": ("no-sender", found(sender=None)),
    "nobody with a name": ("no-sender", sent_by("undisclosed")),
    "suppressed": ("suppressed", found(has_suppressed_address=True)),
    "thread cap": ("cap-thread", found(full_cap="cap-thread")),
    "correspondent cap": ("cap-correspondent", found(full_cap="cap-correspondent")),
    "domain cap": ("cap-domain", found(full_cap="cap-domain")),
    "inbox cap": ("cap-inbox", found(full_cap="cap-inbox")),
    "too old": ("too-old", found(is_too_old=True)),
    "spam verdict": ("spam", found(verdicts=Verdicts(spam="fail"))),
    "spam label": ("spam", found(labels=frozenset({"spam"}))),
    "virus": ("virus", found(verdicts=Verdicts(virus="fail"))),
    "dmarc": ("dmarc", found(verdicts=Verdicts(dmarc="fail"))),
    "blocked": ("blocked", found(labels=frozenset({"blocked"}))),
    "trash": ("blocked", found(labels=frozenset({"trash"}))),
    "no headers": ("headers-unknown", found(signals=None)),
    "derived id": ("derived-id", found(has_derived_id=True)),
    "no text where there was one": ("body-unknown", found(has_unknown_body=True)),
    "label unauthenticated": ("unauthenticated", found(labels=frozenset({"unauthenticated"}))),
    "no verdict": ("unauthenticated", found(is_screened=False)),
    "one verdict missing": (
        "unauthenticated",
        found(is_screened=False, verdicts=Verdicts(spam="pass", dmarc="pass")),
    ),
    "unclear reply-to": ("unclear-reply-to", found(has_clear_reply_to=False)),
    "thread moved on": ("newer-asked", found(has_newer_asked=True)),
    "no route": ("no-route", found(route=None)),
    "route store": ("route-store", found(route="store")),
    "route notify": ("route-notify", found(route="notify")),
    "route quarantine": ("route-quarantine", found(route="quarantine")),
    "route refuse": ("route-refuse", found(route="refuse")),
    "route draft": ("route-draft", found(route="draft")),
    "route hold": ("route-hold", found(route="hold")),
    "route send": ("route-send", found()),
}


ANSWERED = {
    "auto-submitted no": with_fields(auto_submitted="no"),
    "auto-submitted no with comment": with_fields(auto_submitted="No (a person (me\\) too) wrote)"),
    "auto-submitted no with parameter": with_fields(auto_submitted='no; by="(person"'),
    "precedence of a person": with_fields(precedence="first-class"),
    "suppress none": with_fields(x_auto_response_suppress="None"),
    "suppress receipts only": with_fields(x_auto_response_suppress="DR, RN, NRN"),
    "suppress ndr": with_fields(x_auto_response_suppress="NDR"),
    "x-autoreply no": with_fields(x_autoreply="No"),
    "x-precedence of another kind": with_fields(x_precedence="bulk"),
    "loop mark of somebody else": with_fields(x_loop="team@other.example, v1"),
    "feedback id": with_fields(feedback_id="1.eu-west-1:ses"),
    "ninety-nine hops": with_fields(received=("from a by b",) * 99),
    "path of a person": with_fields(return_path="<bounce+77@mail.customer.example>"),
    "plain text": with_fields(content_type="text/plain; charset=utf-8; report-type=none"),
    "a forwarded mail": with_fields(content_type="message/rfc822"),
    "delivered to a person": with_fields(delivered_to="jane@customer.example"),
    "name that ends like one": sent_by("casinoreply@customer.example"),
    "name that starts like one": sent_by("ownership@customer.example"),
    "recipient unknown": found(recipient=None),
    "every verdict passed": found(is_screened=False, verdicts=PASSED),
    "answers elsewhere": sent_by("jane@customer.example", "jane@home.example"),
}

"""List messages, get a message, get a thread.

Owns: the shape of their answers.
May not: change anything.
"""

from typing import Any

from starlette.responses import Response

from ops.standin.listing import Page, Query, list_query, page_of, thread_query
from ops.standin.messages import as_json, item_of, thread_item
from ops.standin.operations import Call
from ops.standin.refusals import ApiError
from ops.standin.sends import existing_inbox, existing_message
from ops.standin.standin import Standin
from ops.standin.wire import json_response


async def list_messages(standin: Standin, call: Call) -> Response:
    """One page of the inbox, in items without bodies."""
    inbox_id = existing_inbox(standin, call)
    query = list_query(call.query)
    page = page_of(standin.state.mailbox.inbox(inbox_id), query)
    items = [item_of(message) for message in page.messages]
    return json_response({**_about(page, query, call), "messages": items})


async def get_message(standin: Standin, call: Call) -> Response:
    """One message, whole."""
    existing_inbox(standin, call)
    return json_response(as_json(existing_message(standin, call)))


async def get_thread(standin: Standin, call: Call) -> Response:
    """A thread and one page of its messages: the newest first, ascending inside the page."""
    mailbox = standin.state.mailbox
    thread_id = call.ids["thread_id"]
    inbox_id = call.inbox_id or mailbox.inbox_of_thread(thread_id) or ""
    mails = mailbox.thread(inbox_id, thread_id)
    if not mails:
        raise ApiError(404, "no such thread")
    query = thread_query(call.query)
    page = page_of(mails, query)
    item = thread_item(tuple(stored.message for stored in mails))
    messages = [as_json(message) for message in reversed(page.messages)]
    return json_response({**as_json(item), **_about(page, query, call), "messages": messages})


def _about(page: Page, query: Query, call: Call) -> dict[str, Any]:
    about: dict[str, Any] = {"count": len(page.messages)}
    if "limit" in call.query:
        about["limit"] = query.limit
    if page.next_page_token is not None:
        about["next_page_token"] = page.next_page_token
    return about

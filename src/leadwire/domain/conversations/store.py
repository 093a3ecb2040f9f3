"""Making a plan true: everything of it in one statement with its events, or nothing.

The statement is put together from what the plan has. It changes the conversation's row first, and only if that row, and
the lead's, are as they were when they were read; all the rest follows from there.
"""

import functools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from leadwire.domain.conversations import events, pubsub
from leadwire.domain.conversations.plan import Plan
from leadwire.domain.leads import changes as lead_changes
from leadwire.domain.leads import schema as leads
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db.statements import Statement, parts, sql
from leadwire.infrastructure.errors import Unavailable

T = TypeVar("T")

_TRIES: Final = 4
_SAID_BEFORE: Final = "message_client_id"  # the index that finds a message which is sent again

_SAID: Final = ("role", "content", "client_message_id", "answers", "user_id")
_PARTS: Final = parts(__file__)


class Repeated(Exception):
    """A message with this `client_message_id` is in the conversation already."""


class ConcurrentUpdate(Exception):
    """Somebody else has changed the conversation or its lead meanwhile: begin again."""


class Part(NamedTuple):
    """What else is stored: SQL `name AS (...)`, which selects from `changed`, and values beside those of the plan."""

    text: str
    values: Mapping[str, Any] = {}


async def store(plan: Plan, *more: Part) -> None:
    """Store a plan, in the open transaction or as one. Raise ConcurrentUpdate when the conversation or its lead has
    changed since, or the lead's address is another's; Repeated when a message is sent again.
    """
    before, row = plan.known, plan.row
    how, variables = "begin" if before.version is None else "change", row["variables"]
    values = {**row, "variables": msgspec.json.encode(variables) if isinstance(variables, Mapping) else variables}
    values |= {"workspace": before.workspace, "conversation": plan.id, "version": before.version}
    if lead := plan.lead:
        values |= {"lead": lead.lead.id, "lead_version": lead.version, **leads.contents(lead.lead)}
        values["lead_updated_at"] = clock.parse(lead.lead.updated_at)
        how += "_with_lead" if lead.version else ""
    texts = [_PARTS[how]]
    if lead and (not lead.version or plan.lead_changed):
        texts.append(lead_changes.CHANGE if lead.version else lead_changes.ADD)
    if plan.messages:
        texts.append(_PARTS["messages"])
        values |= {name: [getattr(message, name) for message in plan.messages] for name in ("id", "seq")}
        values |= {name: [getattr(message, name) for message in plan.said] for name in _SAID}
    for part in more:
        texts.append(part.text)
        values |= part.values
    try:
        written = await events.record_plan(_statement(tuple(texts)), values, plan)
    except db.UniqueViolation as error:
        raise (Repeated if error.constraint_name == _SAID_BEFORE else ConcurrentUpdate) from error
    if not written:
        raise ConcurrentUpdate
    pubsub.publish(before.workspace, plan.id)


async def repeated(work: Callable[[int], Awaitable[T]]) -> T:
    """Do what may meet others' changes; again, up to four times, when it has. `work` takes the number of the try, from
    0. Raise Unavailable when it meets them again and again.
    """
    for number in range(_TRIES):
        undo = await db.savepoint() if db.in_transaction() else None
        try:
            return await work(number)
        except (ConcurrentUpdate, db.Deadlock):
            if undo:
                await undo()
    raise Unavailable("The conversation is busy.", headers={"Retry-After": "1"})


@functools.cache  # one for each kind of plan
def _statement(texts: tuple[str, ...]) -> Statement:
    return sql(", ".join(texts))

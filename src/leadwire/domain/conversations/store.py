"""Making a plan true: everything of it in one statement with its events, or nothing.

The statement is put together from what the plan has. It changes the conversation's row first, and only if that row, and
the lead's, are as they were when they were read; all the rest follows from there.
"""

import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from leadwire.domain.conversations import events, pubsub
from leadwire.domain.conversations.plan import Plan
from leadwire.domain.conversations.schema import ConcurrentUpdate, Repeated
from leadwire.domain.leads import parts
from leadwire.domain.leads import schema as leads
from leadwire.infrastructure import db
from leadwire.infrastructure.db.statements import Statement, sql
from leadwire.infrastructure.errors import Unavailable

T = TypeVar("T")

_TRIES: Final = 4
_SAID_BEFORE: Final = "message_client_id"  # the index that finds a message which is sent again

_ORIGIN: Final = ("bot_id", "flow_version", "source_url", "source_campaign", "source_referrer", "locale", "timezone",
                  "browser", "os", "created_at")  # fmt: skip
_CHANGING: Final = ("status", "lead_id", "visitor_email", "visitor_name", "messages_count", "variables",
                    "handoff_reason", "handoff_requested_at", "ended_at", "ended_by", "end_reason", "snoozed_until",
                    "end_due_at", "updated_at")  # fmt: skip
_SAID: Final = ("role", "content", "client_message_id", "answers", "user_id")


def _list(names: Sequence[str], form: str = "{}") -> str:
    return ", ".join(form.format(name) for name in names)


_HERE: Final = "workspace_id = :workspace AND id = :conversation"
_SAME: Final = f"{_HERE} AND xmin = :version::xid"
_SET: Final = f"UPDATE conversation SET {_list(_CHANGING, '{0} = :{0}')}"
_BEGIN: Final = f"""changed AS (
    INSERT INTO conversation (id, workspace_id, {_list(_ORIGIN)}, {_list(_CHANGING)})
    SELECT :conversation, :workspace, {_list(_ORIGIN, ":{}")}, {_list(_CHANGING, ":{}")} RETURNING id
)"""
_CHANGE: Final = f"changed AS ({_SET} WHERE {_SAME} RETURNING id)"
_HOLD: Final = "lead.id = :lead AND lead.version = :lead_version FOR NO KEY UPDATE OF lead"
_BEGIN_WITH_LEAD: Final = f"""held AS MATERIALIZED (SELECT 1 FROM lead WHERE {_HOLD}
), {_BEGIN.replace(" RETURNING", " FROM held RETURNING")}"""
# Conversations are locked before leads, by everybody: the other way round two could deadlock.
_CHANGE_WITH_LEAD: Final = f"""same AS MATERIALIZED (
    SELECT id FROM conversation WHERE {_SAME} FOR NO KEY UPDATE
), held AS MATERIALIZED (SELECT same.id FROM same, lead WHERE {_HOLD}
), changed AS (
    {_SET} WHERE {_HERE} AND id = (SELECT id FROM held) RETURNING id
)"""
_MESSAGES: Final = """messages AS (
    INSERT INTO message (workspace_id, conversation_id, created_at, id, seq, role, content, client_message_id, answers,
        user_id)
    SELECT :workspace, changed.id, :updated_at, new.* FROM changed, unnest(:id::text[], :seq::int[], :role::text[],
        :content::text[], :client_message_id::text[], :answers::text[], :user_id::text[]) AS new
)"""


class Part(NamedTuple):
    """What else is stored: SQL `name AS (...)`, which selects from `changed`, and values beside those of the plan."""

    text: str
    values: Mapping[str, Any] = {}


async def store(plan: Plan, *more: Part) -> None:
    """Store a plan, in the open transaction or as one. Raise ConcurrentUpdate when the conversation or its lead has
    changed since, or the lead's address is another's; Repeated when a message is sent again.
    """
    known, row = plan.known, plan.row
    begins, values = known.version is None, {name: row[name] for name in (*_ORIGIN, *_CHANGING)}
    texts = [_BEGIN if begins else _CHANGE]
    variables = row["variables"]
    values["variables"] = msgspec.json.encode(variables) if isinstance(variables, Mapping) else variables
    values |= {"workspace": known.workspace, "conversation": plan.id, "version": known.version}
    if lead := plan.lead:
        values |= {"lead": lead.lead.id, "lead_version": lead.version, **leads.contents(lead.lead)}
        if lead.version:
            texts = [_BEGIN_WITH_LEAD if begins else _CHANGE_WITH_LEAD]
        if not lead.version or plan.lead_changed:
            texts.append(parts.CHANGE if lead.version else parts.ADD)
    if plan.messages:
        texts.append(_MESSAGES)
        values |= {name: [getattr(one, name) for one in plan.messages] for name in ("id", "seq")}
        values |= {name: [getattr(one, name) for one in plan.said] for name in _SAID}
    for part in more:
        texts.append(part.text)
        values |= part.values
    try:
        made = await events.record_with(_statement(tuple(texts)), values, plan)
    except db.UniqueViolation as error:
        raise (Repeated if error.constraint_name == _SAID_BEFORE else ConcurrentUpdate) from error
    if not made:
        raise ConcurrentUpdate
    pubsub.publish(known.workspace, plan.id)


async def repeated(work: Callable[[int], Awaitable[T]]) -> T:
    """Do what may meet others' changes; again, up to four times, when it has. `work` takes the number of the try, from
    0. Raise Unavailable when it meets them again and again.
    """
    for number in range(1 if db.in_transaction() else _TRIES):
        try:
            return await work(number)
        except (ConcurrentUpdate, db.Deadlock):
            continue
    raise Unavailable("The conversation is busy.", headers={"Retry-After": "1"})


@functools.cache  # one for each kind of plan
def _statement(texts: tuple[str, ...]) -> Statement:
    return sql(", ".join(texts))

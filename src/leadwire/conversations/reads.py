"""Looking conversations up. Every query takes the workspace first."""

import functools
from typing import Annotated, Final

from msgspec import Meta

from leadwire import clock, db
from leadwire.conversations.schema import (
    LIST_COLUMNS,
    METADATA_COLUMNS,
    Conversation,
    ConversationDetail,
    Message,
    Status,
    Visitor,
    from_row,
    metadata_from_row,
)
from leadwire.errors import NotFound
from leadwire.ids import is_id
from leadwire.leads import schema as leads
from leadwire.web.paging import BotId, Moment, PageQuery
from leadwire.wire.totals import Totals


class ConversationQuery(PageQuery, frozen=True, kw_only=True):
    """The filters of the list."""

    status: Annotated[Status, Meta(description="Only conversations in this state.")] | None = None
    bot_id: Annotated[BotId, Meta(description="Only conversations of this bot.")] | None = None
    since: Annotated[Moment, Meta(description="Created after this time (exclusive).")] | None = None
    until: Annotated[Moment, Meta(description="Created before this time (exclusive).")] | None = None


_CONDITIONS: Final = {
    "status": "status = {}",
    "bot_id": "bot_id = {}",
    "since": "created_at > {}",
    "until": "created_at < {}",
}
# One statement, so one snapshot; nested rows arrive as records and are not parsed from JSON.
_DETAIL: Final = f"""
SELECT id, bot_id, status, visitor_email, visitor_name, created_at, updated_at,
    ARRAY(SELECT (m.id, m.role, m.content, m.created_at) FROM message m WHERE m.conversation_id = c.id ORDER BY m.seq),
    (SELECT ({leads.COLUMNS}) FROM lead WHERE lead.id = c.lead_id),
    {METADATA_COLUMNS}
FROM conversation c WHERE workspace_id = $1 AND id = $2"""
_totals = Totals(kinds=("conversation.started",), kinds_when={"status": ("conversation.handoff", "conversation.ended")})


async def detail(workspace: str, conversation_id: str) -> ConversationDetail:
    """A conversation with its messages, lead and metadata. Raises NotFound."""
    found = await db.row(_DETAIL, workspace, conversation_id) if is_id("conv", conversation_id) else None
    if found is None:
        raise NotFound("There is no such conversation.")
    id_, bot_id, status, email, name, created_at, updated_at, messages, lead, *metadata = found
    iso = clock.iso
    return ConversationDetail(
        id_,
        bot_id,
        status,
        Visitor(email, name),
        iso(created_at),
        iso(updated_at),
        [Message(mid, role, content, iso(at)) for mid, role, content, at in messages],
        leads.from_row(lead) if lead else None,
        metadata_from_row(metadata),
    )


async def page(workspace: str, query: ConversationQuery) -> tuple[list[Conversation], int]:
    """The conversations of one page, newest first, and how many match in all."""
    used = {name: value for name in _CONDITIONS if (value := getattr(query, name)) is not None}
    found, total = await _totals.page(workspace, used, _select(tuple(used)), query.limit, query.offset)
    return [from_row(row) for row in found], total


@functools.cache  # one text per set of filters that are used: each gets its own plan
def _select(used: tuple[str, ...]) -> tuple[str, str]:
    where = " AND ".join(["workspace_id = $1", *(_CONDITIONS[name].format(f"${n}") for n, name in enumerate(used, 2))])
    return LIST_COLUMNS, f"FROM conversation WHERE {where}"

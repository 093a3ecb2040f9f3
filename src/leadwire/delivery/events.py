"""Events read back, as far as they are still kept: a workspace's feed, and those about one lead or conversation.

The feed has a workspace's events in the order they were committed, without gaps, for whoever missed deliveries. A
cursor is the transaction and the position of an event. Only transactions older than every open one are shown, so an
event never turns up before a cursor that was handed out, however long its transaction took.

A new server counts its transactions from the beginning, so events restored from a dump may have ones that this server
has not reached: no open transaction can have such a number, they come first. A cursor among them goes on with the
events that followed the restore, until the server has counted up to it: a reader has to read past them before.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, Literal

from msgspec import Struct

from leadwire.delivery.envelope import KINDS
from leadwire.infrastructure import clock, ids
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import FieldError, InvalidParameter

LATEST: Final = 100
"""Events about a lead or a conversation that are returned at most, the latest ones."""
_CURSOR: Final = re.compile(f"([0-9]{{1,19}})-([0-9]{{1,18}})-(evt_{ids.FORM})")
_LONGEST_TRANSACTION: Final = timedelta(days=1)  # bounds the partitions that are read

_EVENTS: Final = """SELECT {era} AS era, xact, position, id, kind, occurred_at, body FROM event v
    WHERE workspace_id = :workspace AND v.kind = known.kind AND id >= :floor::text
      AND test_endpoint_id IS NULL AND body <> '' AND """
_IN_ORDER: Final = "ORDER BY xact, position LIMIT :limit"
# The events after a place: those of transactions that a dump brought first, then those of this server's own.
_READ: Final = sql(f"""
SELECT found.* FROM pg_current_snapshot() AS present, unnest(:kinds::text[]) AS known (kind) CROSS JOIN LATERAL (
    ({_EVENTS.format(era=0)} xact >= pg_snapshot_xmax(present)
      AND (:xact::text = '0' OR :xact::text::xid8 >= pg_snapshot_xmax(present))
      AND (xact, position) > (:xact::text::xid8, :position::bigint) {_IN_ORDER})
    UNION ALL
    ({_EVENTS.format(era=1)} xact < pg_snapshot_xmin(present)
      AND xact >= CASE WHEN :xact::text::xid8 >= pg_snapshot_xmax(present) THEN '0' ELSE :xact::text::xid8 END
      AND (:xact::text::xid8 >= pg_snapshot_xmax(present) OR (xact, position) > (:xact::text::xid8, :position::bigint))
    {_IN_ORDER})
) found ORDER BY era, xact, position LIMIT :limit""")

# An event's place in the feed.
_PLACE: Final = sql("SELECT xact::text, position FROM event WHERE workspace_id = :workspace AND id = :id")

# Materialized: else the planner may read every event there is, in the order of their ids, until it has found enough.
_ABOUT: Final = f"""
WITH about AS MATERIALIZED (
    SELECT id, kind, occurred_at, body FROM event WHERE workspace_id = :workspace AND {{}} = :subject
) SELECT * FROM about ORDER BY id DESC LIMIT {LATEST}"""
# The latest events about a lead; about a conversation.
_ABOUT_LEAD: Final = sql(_ABOUT.format("lead_id"))
_ABOUT_CONVERSATION: Final = sql(_ABOUT.format("conversation_id"))

# Whether there are any: fails where nothing has been migrated.
_ANY: Final = sql("SELECT EXISTS (SELECT 1 FROM event)")


class StoredEvent(Struct, frozen=True):
    """An event; `body` is what was signed and sent, empty once its person is erased."""

    id: str
    kind: str
    at: datetime
    body: str


class FeedEvent(Struct, frozen=True):
    """An event, and the cursor after it. `body` is the text that webhooks carry."""

    cursor: str
    id: str
    kind: str
    occurred_at: str
    body: str


async def check_table() -> None:
    """Raise asyncpg's UndefinedTableError where nothing has been migrated."""
    await _ANY.value()


async def about(workspace: str, whom: Literal["lead_id", "conversation_id"], subject: str) -> list[StoredEvent]:
    """Return the latest events about a lead or a conversation, newest first."""
    latest = _ABOUT_LEAD if whom == "lead_id" else _ABOUT_CONVERSATION
    return [StoredEvent(*row) for row in await latest.rows(workspace=workspace, subject=subject)]


async def feed(workspace: str, after: str = "", kinds: Sequence[str] = (), limit: int = 100) -> list[FeedEvent]:
    """Return events after a cursor or an event id (empty: all that are kept). Raise InvalidParameter.

    `kinds`: only these. Events about somebody who was erased are left out.
    """
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise _refused("event", f"No such event: {', '.join(unknown)}. There are: {', '.join(KINDS)}.")
    xact, position, floor = await _place(workspace, after) if after else ("0", 0, "evt_")
    found = await _READ.rows(
        kinds=list(kinds or KINDS), workspace=workspace, floor=floor, xact=xact, position=position, limit=limit
    )
    return [
        FeedEvent(f"{xact}-{position}-{id_}", id_, kind, clock.iso(at), body)
        for _, xact, position, id_, kind, at, body in found
    ]


async def _place(workspace: str, after: str) -> tuple[str, int, str]:
    """Return the transaction and position after which to read, and an event id below which nothing can be."""
    if ids.is_id("evt", after):
        event_id, found = after, await _PLACE.row(workspace=workspace, id=after)
        if found is None:
            raise _refused("after", "There is no such event any more: begin with a cursor, or with none.")
        xact, position = found
    elif parts := _CURSOR.fullmatch(after):
        xact, position, event_id = parts[1], int(parts[2]), parts[3]
    else:
        raise _refused("after", "This is no cursor of ours.")
    try:
        return xact, position, ids.floor("evt", ids.moment(event_id) - _LONGEST_TRANSACTION)
    except OverflowError:
        raise _refused("after", "This is no cursor of ours.") from None


def _refused(parameter: str, message: str) -> InvalidParameter:
    return InvalidParameter(message, errors=(FieldError("invalid_parameter", message, parameter=parameter),))

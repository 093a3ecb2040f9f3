"""The feed: a workspace's events in the order they were committed, without gaps, for whoever missed deliveries.

A cursor is the transaction and the position of an event. Only transactions older than every open one are shown, so an
event never turns up before a cursor that was handed out, however long its transaction took.

A new server counts its transactions from the beginning, so events restored from a dump may have ones that this server
has not reached: no open transaction can have such a number, they come first. A cursor among them goes on with the
events that followed the restore, until the server has counted up to it: a reader has to read past them before.
"""

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from msgspec import Struct

from leadwire.delivery.envelope import KINDS
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.errors import FieldError, InvalidParameter

_CURSOR: Final = re.compile(f"([0-9]{{1,19}})-([0-9]{{1,18}})-(evt_{ids.FORM})")
_LONGEST_TRANSACTION: Final = timedelta(days=1)  # bounds the partitions that are looked at

_EVENTS: Final = """SELECT {era} AS era, xact, position, id, kind, occurred_at, body FROM outbox_event v
    WHERE workspace_id = $1 AND v.kind = known.kind AND id >= $5::text AND test_endpoint_id IS NULL AND body <> ''
      AND """
_IN_ORDER: Final = "ORDER BY xact, position LIMIT $6"
_READ: Final = f"""
SELECT found.* FROM pg_current_snapshot() AS present, unnest($2::text[]) AS known (kind) CROSS JOIN LATERAL (
    ({_EVENTS.format(era=0)} xact >= pg_snapshot_xmax(present)
      AND ($3::text = '0' OR $3::text::xid8 >= pg_snapshot_xmax(present))
      AND (xact, position) > ($3::text::xid8, $4::bigint) {_IN_ORDER})
    UNION ALL
    ({_EVENTS.format(era=1)} xact < pg_snapshot_xmin(present)
      AND xact >= CASE WHEN $3::text::xid8 >= pg_snapshot_xmax(present) THEN '0' ELSE $3::text::xid8 END
      AND ($3::text::xid8 >= pg_snapshot_xmax(present) OR (xact, position) > ($3::text::xid8, $4::bigint)) {_IN_ORDER})
) found ORDER BY era, xact, position LIMIT $6"""

_WHERE: Final = "SELECT xact::text, position FROM outbox_event WHERE workspace_id = $1 AND id = $2"


class FeedEvent(Struct, frozen=True):
    """An event, and the cursor after it. `body` is the text that webhooks carry."""

    cursor: str
    id: str
    kind: str
    occurred_at: str
    body: str


async def read(workspace: str, after: str = "", kinds: Sequence[str] = (), limit: int = 100) -> list[FeedEvent]:
    """The events after a cursor or an event id (empty: all that are kept), at most `limit`. Raises InvalidParameter.

    `kinds`: only these. Events about somebody who was erased are left out.
    """
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise _refused("event", f"No such event: {', '.join(unknown)}. There are: {', '.join(KINDS)}.")
    xact, position, floor = await _place(workspace, after) if after else ("0", 0, "evt_")
    found = await db.rows(_READ, workspace, list(kinds or KINDS), xact, position, floor, limit)
    return [
        FeedEvent(f"{xact}-{position}-{id_}", id_, kind, clock.iso(at), body)
        for _, xact, position, id_, kind, at, body in found
    ]


async def _place(workspace: str, after: str) -> tuple[str, int, str]:
    """The transaction and position after which to read, and an event id below which nothing can be."""
    if ids.is_id("evt", after):
        event_id, found = after, await db.row(_WHERE, workspace, after)
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
    return InvalidParameter(message, faults=(FieldError("invalid_parameter", message, parameter=parameter),))

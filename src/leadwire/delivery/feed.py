"""Events read back, as far as they are still kept: a workspace's feed, and those about one lead or conversation.

The feed has a workspace's events in the order they were committed, without gaps, for whoever missed deliveries. Its
order is by epoch (`epochs`), then by `xact` and position, which puts an event behind all that was committed before it
was recorded. What is behind an event that is recorded and not yet committed is held back. So an event never
turns up before one that was shown, however long its transaction took.

A cursor is the id of an event, so it means the same on any server that has the event. Where a restore or a failover has
lost the event, the feed says so. Where nothing follows an old event, whose day will be dropped, the cursor to go on
from is a bound instead: the lowest id of a time, which no event has.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from leadwire.delivery import epochs
from leadwire.delivery.envelope import EVERY_KIND, KINDS
from leadwire.delivery.relay import partitions
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import FieldError, InvalidParameter

LATEST: Final = 100
"""Events about a lead or a conversation that are returned at most, the latest ones."""
_CURSOR: Final = re.compile(f"(?:[0-9]+-[0-9]+-)?(evt_{ids.FORM})")  # the numbers: of cursors of an earlier version
_LONGEST_TRANSACTION: Final = timedelta(days=1)  # bounds the partitions that are read
_CLOCKS_DIFFER: Final = timedelta(minutes=5)  # a follower that begins now may be ahead of us
_BEFORE_LOSS: Final = timedelta(minutes=5)  # longer than a transaction takes, and than clocks differ

_READ, _PLACE, _ONE, _ABOUT_LEAD, _ABOUT_CONVERSATION = named(__file__, "read place one about_lead about_conversation")


class FeedEvent(Struct, frozen=True):
    """An event; `body` is what was signed and sent, empty once its person is erased."""

    id: str
    kind: str
    at: datetime
    body: str


class StoredEvent(FeedEvent, frozen=True):
    """The same, with who made the change."""

    actor: str | None


class Feed(Struct, frozen=True):
    """A part of the feed. `held_back_since`: when the first event was recorded that is committed and not shown yet,
    because one that comes before it is not committed; None where all are shown. `onward`: after what to read on where
    there are no events; otherwise that is the last of them.
    """

    events: list[FeedEvent]
    held_back_since: datetime | None
    onward: str


class _Place(NamedTuple):
    """The transaction and position after which to read, an event id below which nothing can be, and `Feed.onward` where
    nothing is behind it.
    """

    xact: str
    position: int
    floor: str
    onward: str


@query()
async def check_table() -> bool:
    """Whether there are any events. Raise asyncpg's UndefinedTableError where nothing has been migrated."""


async def about(workspace: str, whom: Literal["lead_id", "conversation_id"], subject: str) -> list[StoredEvent]:
    """Return the latest events about a lead or a conversation, newest first."""
    latest = _ABOUT_LEAD if whom == "lead_id" else _ABOUT_CONVERSATION
    return [StoredEvent(*row) for row in await latest.rows(workspace=workspace, subject=subject, most=LATEST)]


@query()
async def readdressed(workspace: str, lead_id: str) -> list[str]:
    """The bodies of all events that tell of an e-mail address or a phone number that a lead had before."""


async def one(workspace: str, event_id: str) -> FeedEvent | None:
    """Return an event of the feed by its id; None without it, or when it is about somebody who was erased."""
    if not ids.is_id("evt", event_id):
        return None
    row = await _ONE.row(workspace=workspace, id=event_id, kinds=list(KINDS))
    return FeedEvent(*row) if row else None


async def feed(workspace: str, after: str = "", kinds: Sequence[str] = (), limit: int = 100) -> Feed:
    """Return events after an event, by its id, or from an ISO 8601 time on (empty: all that are kept).

    `kinds`: only these; by default all but those of the audit log. Events about somebody who was erased are left out.
    Raise InvalidParameter, also for an event whose day is no longer kept, since others that followed it may be gone,
    too; and where it was lost in a restore or a failover: the message then has the time from which to read on.
    """
    if unknown := [kind for kind in kinds if kind not in EVERY_KIND]:
        raise _refused("event", f"No such event: {', '.join(unknown)}. There are: {', '.join(EVERY_KIND)}.")
    xact, position, floor, onward = await _place(workspace, after) if after else ("0", 0, "evt_", "")
    # The statement reads each kind by itself: one that is named twice would come twice.
    values = {"kinds": list(dict.fromkeys(kinds or KINDS)), "workspace": workspace, "floor": floor}
    rows: list[db.Row] = []
    for first, end in await epochs.spans():
        if len(rows) == limit:
            break
        if end is None or end > position:
            position_after = (xact, position) if first <= position else ("0", 0)
            where = {"first": first, "end": end, "xact": position_after[0], "position": position_after[1]}
            rows += await _READ.rows(**values, **where, limit=limit - len(rows))
    events = [FeedEvent(*event) for *event, held_back_since in rows if held_back_since is None]
    held_back_since = rows[len(events)]["held_back_since"] if len(events) < len(rows) else None
    return Feed(events, held_back_since, after if rows else onward)


async def _place(workspace: str, after: str) -> _Place:
    """Return where to read on from an id or a time. Raise InvalidParameter.

    What the next statement does not see was recorded within the longest transaction before now: a bound of that time
    misses nothing. What comes before the event was recorded until the longest transaction after it: where that is
    earlier than the bound, nothing comes twice. A standby may be further behind.
    """
    now = clock.now()
    lately = now - _LONGEST_TRANSACTION
    try:
        if not (named := _CURSOR.fullmatch(after)):
            since = clock.parse(after)
            if since > now + _CLOCKS_DIFFER:
                raise _refused("after", f"{after[:100]} is in the future.", "invalid_cursor")
            return _Place("0", 0, ids.floor("evt", since), after)
        cursor_at = ids.moment(named[1])
        floor = ids.floor("evt", cursor_at - _LONGEST_TRANSACTION)
    except (ValueError, OverflowError):
        raise _refused("after", "Neither a cursor of ours nor a time that has been.", "invalid_cursor") from None
    ((xact, position, standby),) = await _PLACE.rows(workspace=workspace, id=named[1])
    onward = ids.floor("evt", lately) if cursor_at < lately - _LONGEST_TRANSACTION and not standby else after
    if xact:
        return _Place(xact, position, floor, onward)
    if named[1] < await partitions.kept_from():
        message = f"The day of {named[1]} is no longer kept, nor is what may have followed it. Begin again."
        raise _refused("after", message, "expired_cursor")
    if named[1] == ids.floor("evt", cursor_at) and cursor_at < now:
        return _Place("0", 0, named[1], onward)
    lost_since = clock.iso(cursor_at - _BEFORE_LOSS)
    raise _refused(
        "after",
        f"{named[1]} is not here: a restore or a failover has lost it, or it is another workspace's. Events since then"
        f" come after {lost_since}; you have had those of the first minutes already.",
        "foreign_cursor",
    )


def _refused(parameter: str, message: str, code: str = "invalid_parameter") -> InvalidParameter:
    return InvalidParameter(message, errors=(FieldError(code, message, parameter=parameter),))

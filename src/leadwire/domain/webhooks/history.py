"""What became of a workspace's deliveries, a page at a time, newest first.

No index is kept for this: each delivery costs its writes already. Pages walk the newest events through the index of the
change feed and look at their deliveries by primary key; a filter that matches little looks at `LOOKED` events a page
and says how far it got. What is unfinished, dead, or of one lead or conversation has an index.
"""

from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from leadwire.delivery import epochs
from leadwire.delivery.envelope import EVERY_KIND
from leadwire.delivery.states import OUTCOMES as OUTCOMES  # noqa: PLC0414 - what a filter may name, for its readers
from leadwire.domain.listing.cursors import refused
from leadwire.domain.webhooks.schema import Delivery
from leadwire.infrastructure import clock, ids
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import InvalidParameter

LOOKED: Final = 500
_STAGES: Final = ("delivered", "unfinished", "dead", "cancelled")  # unfinished is waiting or queued
_NEWEST, _UNFINISHED, _DEAD, _ITSELF, _ABOUT_LEAD, _ABOUT_CONVERSATION, _PAGE = named(
    __file__, "newest unfinished dead itself about_lead about_conversation page"
)


class Filter(Struct, frozen=True, kw_only=True):
    """What to look for; empty does not restrict. `subject` is a lead's, a conversation's or an event's id; `since` is
    inclusive; `tests` are test events, too; `above` and `upto` are events, the first exclusive.
    """

    endpoint_id: str = ""
    stage: str = ""
    kind: str = ""
    outcome: str = ""
    subject: str = ""
    since: datetime | None = None
    until: datetime | None = None
    tests: bool = True
    above: str = ""
    upto: str = ""


class ListedDelivery(Delivery, frozen=True):
    """One delivery in a list."""

    test: bool
    subject: str | None
    url: str | None
    enabled: bool | None
    took: int | None
    http_status: int | None
    """Of the last attempt: milliseconds, and the answer's status if there was one."""


class Page(Struct, frozen=True):
    """Deliveries, and where the next page begins; `looked` events were looked at for them."""

    rows: list[ListedDelivery]
    after: str | None
    looked: int


async def page(workspace: str, wanted: Filter, after: str = "", limit: int = 50) -> Page:
    """Return a page of the deliveries that match, those of newer events first. Raise InvalidParameter."""
    _check(wanted, after)
    narrow = bool(wanted.endpoint_id or wanted.stage or wanted.outcome)
    number = LOOKED if narrow else limit + 1
    events = await _events(workspace, wanted, after, number)
    if not events:
        return Page([], None, 0)
    listed = await _PAGE.rows(
        events=events,
        workspace=workspace,
        oldest=events[-1],
        endpoint_id=wanted.endpoint_id,
        states=["waiting", "queued"] if wanted.stage == "unfinished" else [wanted.stage] if wanted.stage else None,
        outcome=wanted.outcome,
        kinds=_kinds(wanted),
        tests=wanted.tests,
        limit=limit + 1,
    )
    rows = [ListedDelivery(*clock.texts(row)) for row in listed]
    if len(rows) > limit:  # never break an event's deliveries in two: the cursor is an event
        rows = [row for row in rows if row.event_id != rows[limit].event_id] or rows
        return Page(rows, rows[-1].event_id, len(events))
    return Page(rows, events[-1] if len(events) == number else None, len(events))


async def _events(workspace: str, wanted: Filter, after: str, limit: int) -> list[str]:
    """Return the ids of up to `limit` events whose deliveries may match, newest first."""
    values: dict[str, Any] = {
        "workspace": workspace,
        "before": after or (f"{wanted.upto}0" if wanted.upto else "evu"),  # after every event id
        "since": max(ids.floor("evt", wanted.since) if wanted.since else "evt_", f"{wanted.above}0"),
        "until": ids.floor("evt", wanted.until) if wanted.until else "evu",
        "limit": limit,
        "kinds": _kinds(wanted),
        "subject": wanted.subject,
        "endpoint_id": wanted.endpoint_id,
    }
    if wanted.subject:
        chosen = {"lead": _ABOUT_LEAD, "evt": _ITSELF}.get(wanted.subject.partition("_")[0], _ABOUT_CONVERSATION)
    else:
        chosen = {"unfinished": _UNFINISHED, "dead": _DEAD}.get(wanted.stage, _NEWEST)
    events: list[str] = []
    for first, end in reversed(await epochs.spans()) if chosen is _NEWEST else [(0, None)]:
        values |= {"first": first, "end": end}
        events += [row["id"] for row in await chosen.rows(**{name: values[name] for name in chosen.names})]
        if len(events) >= limit:
            break
    return events[:limit]


def _kinds(wanted: Filter) -> list[str]:
    return [wanted.kind] if wanted.kind else list(EVERY_KIND)


def _check(wanted: Filter, after: str) -> None:
    for name, values in (("stage", _STAGES), ("kind", EVERY_KIND), ("outcome", OUTCOMES)):
        if (value := getattr(wanted, name)) and value not in values:
            raise InvalidParameter(f"`{name}` is one of {', '.join(values)}.")
    if any(cursor and not ids.is_id("evt", cursor) for cursor in (after, wanted.above, wanted.upto)):
        raise refused("cursor", "invalid_cursor", "This is no place in this list.")

"""The feed of a workspace: its events in the order of their commits, with waiting for the next one."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta, Struct, structs

from leadwire.delivery import feed as events
from leadwire.delivery import long_polls
from leadwire.delivery.envelope import KINDS
from leadwire.domain.listing import cursors
from leadwire.domain.listing.queries import Limit
from leadwire.infrastructure import clock, ids
from leadwire.infrastructure.errors import InvalidParameter, NotFound, RateLimited, Unavailable

MOST_WAITING: Final = 5
"""Requests of one key that wait at a time in one process."""
MOST_WAITING_IN_ALL: Final = 500
"""The same of all keys."""
_AT_ONCE: Final = 500  # events of an export that are in memory at a time
_LOOK: Final = 1.0  # seconds; what a wake-up that was lost costs
_LONGEST_PAUSE: Final = 20.0  # seconds that an export waits at once, and about as long before, for what is held back
_SOON: Final = 0.004  # seconds until the next look after a wake-up: an earlier event may not be committed yet

_waiting: Counter[str] = Counter()
_KIND: Final = f"({'|'.join(KINDS)})".replace(".", "[.]")


class FeedQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which events, and from where on."""

    limit: Limit = 20
    """Results per page."""
    cursor: Annotated[str, Meta(min_length=1, max_length=100)] = "first"
    """Where to read on: `first`, what `meta.next_cursor` of the page before says, with the same `types`, the id of an
    event, or a time (ISO 8601). It lasts for as long as events are kept, and `next_cursor` moves on before that, also
    where nothing comes."""
    types: Annotated[str, Meta(max_length=200, extra_json_schema={"pattern": f"^{_KIND}(,{_KIND})*$"})] | None = None
    """Only these kinds, with a comma between them. By default all, also those that will be added."""
    wait: Annotated[int, Meta(ge=0, le=30)] = 0
    """Seconds to wait for the first event when there is none."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that are asked for."""
        return KINDS if self.types is None else tuple(self.types.split(","))


class Event(Struct, frozen=True):
    """Something that happened, as webhooks tell of it."""

    id: str
    """Starts with `evt_`; the `webhook-id` of its deliveries."""
    event: str
    """The kind of event."""
    timestamp: str
    """When it happened, which can be long before a webhook arrives."""
    data: dict[str, Any]  # a msgspec.Raw as it comes from the database
    """What it happened to, as it was then: what the webhook of this kind carries."""


class Page(NamedTuple):
    """Events, the cursor to read on from, and whether there are more already."""

    events: list[Event]
    next_cursor: str
    has_more: bool
    held_back_since: str | None
    """See `events.Feed`."""


class _Envelope(Struct):
    event: str
    timestamp: str
    data: msgspec.Raw


async def page(workspace: str, key_id: str, query: FeedQuery, over: Callable[[], bool] = lambda: False) -> Page:
    """Return the events behind a cursor.

    Without any, wait for the first as long as the query says, or until `over`, which is looked at after each wake-up.
    Raise InvalidParameter for a cursor that cannot be used; RateLimited when too many wait.
    """
    check(query.kinds)
    after = "" if query.cursor == cursors.FIRST else query.cursor
    batch = await _read(workspace, after, query.kinds, query.limit + 1)
    if not batch.events and query.wait:
        with _place(key_id), long_polls.waiting(workspace, query.kinds) as woken:
            batch = await _wait(workspace, after, query, woken, over)
    listed = [_event(event) for event in batch.events[: query.limit]]
    following = listed[-1].id if listed else batch.onward or cursors.FIRST
    since = clock.iso(batch.held_back_since) if batch.held_back_since else None
    return Page(listed, following, len(batch.events) > query.limit, since)


def check(kinds: Sequence[str]) -> None:
    """Raise InvalidParameter for kinds that the feed does not have."""
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        message = f"No such kind: {', '.join(unknown)}. There are: {', '.join(KINDS)}."
        raise cursors.refused("types", "invalid_parameter", message)


async def one(workspace: str, event_id: str) -> Event:
    """Return an event. Raise NotFound, also when whom it is about was erased, or it is no longer kept."""
    event = await events.one(workspace, event_id)
    if event is None:
        raise NotFound("There is no such event.")
    return _event(event)


async def walk(workspace: str, cursor: str, kinds: Sequence[str], before: datetime) -> AsyncIterator[list[Event]]:
    """Yield the events behind a cursor that happened before a time; those of them that are held back, once they are
    not. Raise InvalidParameter; Unavailable where that takes too long.
    """
    end, pause = ids.floor("evt", before), _SOON
    after, more = "" if cursor == cursors.FIRST else cursor, True
    while more:
        read = await _read(workspace, after, kinds, _AT_ONCE, "after")
        batch, held = read.events, read.held_back_since is not None and read.held_back_since <= before
        if wanted := [_event(event) for event in batch if event.id < end]:
            yield wanted
        more = held or len(batch) == _AT_ONCE
        after = batch[-1].id if batch else after
        if held and not batch:
            if pause > _LONGEST_PAUSE:
                raise Unavailable("Events are held back: one that comes before them is not committed yet.")
            await asyncio.sleep(pause)
        pause = 2 * pause if held and not batch else _SOON


async def _wait(
    workspace: str, after: str, query: FeedQuery, woken: asyncio.Event, over: Callable[[], bool]
) -> events.Feed:
    """Look when woken, and at intervals. Nothing is held meanwhile but the connection of the caller."""
    clock = asyncio.get_running_loop().time
    end, pause = clock() + query.wait, _SOON
    while True:
        batch = await _read(workspace, after, query.kinds, query.limit + 1)
        left = end - clock()
        if batch.events or left <= 0 or over():
            return batch
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(left, pause)):
                await woken.wait()
        pause = _SOON if woken.is_set() else min(2 * pause, _LOOK)
        woken.clear()


async def _read(workspace: str, after: str, kinds: Sequence[str], limit: int, name: str = "cursor") -> events.Feed:
    try:
        return await events.feed(workspace, after, kinds, limit)
    except InvalidParameter as error:
        faults = tuple(structs.replace(fault, parameter=name) for fault in error.errors)
        raise InvalidParameter(f"Cannot use: {name}.", errors=faults) from None


@contextlib.contextmanager
def _place(key_id: str) -> Iterator[None]:
    """Count a request that waits. Raise RateLimited when there are too many."""
    if _waiting[key_id] >= MOST_WAITING or _waiting.total() >= MOST_WAITING_IN_ALL:
        message = f"At most {MOST_WAITING} requests of a key wait for events at a time."
        raise RateLimited(message, headers={"Retry-After": "1"})
    _waiting[key_id] += 1
    try:
        yield
    finally:
        _waiting[key_id] -= 1
        if not _waiting[key_id]:
            del _waiting[key_id]


def _event(event: events.FeedEvent) -> Event:
    sent = msgspec.json.decode(event.body, type=_Envelope)
    return Event(event.id, sent.event, sent.timestamp, sent.data)  # type: ignore[arg-type]

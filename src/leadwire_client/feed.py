"""`lw.events`: what happened, read back in the order of commits."""

from datetime import datetime
from typing import Any, Final

import httpx
import msgspec
from msgspec import Struct

from leadwire_client.call import Call, params, path_to, single
from leadwire_client.connection import C, Resource, method
from leadwire_client.events import DATA, Event
from leadwire_client.types import Page
from leadwire_client.walk import Pages

_LARGEST: Final = 100  # events of a page
_WAIT: Final = 20  # seconds: less than a client waits for an answer


class Told(Struct):
    """An event as it is sent."""

    id: str
    event: str
    timestamp: datetime
    data: msgspec.Raw


class _Meta(Struct):
    next_cursor: str
    has_more: bool


class _Feed(Struct):
    data: list[Told]
    meta: _Meta


_FEED: Final = msgspec.json.Decoder(_Feed)
_SINGLE: Final = single(Told)


class Events(Resource[C]):
    """`lw.events`."""

    @method
    def page(
        self, *, limit: int | None = None, cursor: str | None = None, types: str | None = None, wait: int | None = None
    ) -> Call[Page[Event]]:
        """One page, oldest first. Raises Invalid.

        `cursor` is "first", the id of an event, a time, or `next_cursor` of the page before; `types` names kinds, with
        a comma between them. `wait` waits so many seconds for the first event, 30 at most, and less than the client's
        `timeout`. `total` and `page` say nothing here.
        """
        return _page(limit=limit, cursor=cursor, types=types, wait=wait)

    @method
    def get(self, event_id: str) -> Call[Event]:
        """One event. Raises NotFound, also when whom it is about was erased."""
        return Call(method="GET", path=path_to("events", event_id), read=lambda answer: event_of(_SINGLE(answer)))

    @method
    def list(self, *, cursor: str = "first", types: str | None = None, follow: bool = False) -> Pages[Event]:
        """Every event behind `cursor`, in the order of commits; with `follow`, those that come later, too, without end.

        Keep the `id` of the last event that you have dealt with: it is the `cursor` to go on from. Raises Invalid, with
        the code `expired_cursor` where events that you have not had are no longer kept.
        """
        return _Following(cursor, types, _WAIT if follow else None)


class _Following(Pages[Event]):
    def __init__(self, cursor: str, types: str | None, wait: int | None) -> None:
        self._types, self._wait = types, wait
        self.call = self._ask(cursor)

    def rows(self, page: Page[Event]) -> list[Event]:
        going_on = page.next_cursor is not None and (page.has_next or self._wait is not None)
        self.call = self._ask(page.next_cursor) if going_on else None
        return page.data

    def _ask(self, cursor: str | None) -> Call[Page[Event]]:
        return _page(limit=_LARGEST, cursor=cursor, types=self._types, wait=self._wait)


def _page(**query: Any) -> Call[Page[Event]]:
    return Call(method="GET", path="/v1/events", params=params(**query), read=_read)


def _read(answer: httpx.Response) -> Page[Event]:
    found = _FEED.decode(answer.content)
    shown = [event_of(one) for one in found.data]
    return Page(
        data=shown, total=len(shown), page=1, per_page=len(shown), has_next=found.meta.has_more,
        next_cursor=found.meta.next_cursor,
    )  # fmt: skip


def event_of(told: Told) -> Event:
    """The event that was sent."""
    data: Any = msgspec.json.decode(told.data, type=DATA.get(told.event, dict))
    return Event(kind=told.event, id=told.id, timestamp=told.timestamp, data=data, test=False)

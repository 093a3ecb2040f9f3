"""`lw.events`: what happened, read back in the order of commits."""

from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import Struct

from leadwire_client.call import Call, params, path_to, single
from leadwire_client.connection import C, Resource, method
from leadwire_client.events import Event, Told, event_of
from leadwire_client.http_client import httpx
from leadwire_client.retry import POLL
from leadwire_client.types import Page
from leadwire_client.walk import Walk


class _Meta(Struct):
    next_cursor: str
    has_more: bool
    held_back_since: datetime | None = None


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
        a comma between them. `wait` waits so many seconds for the first event, 30 at most. `total` and `page` say
        nothing here. Where `held_back_since` is set, some events are not shown yet.
        """
        return _page(limit=limit, cursor=cursor, types=types, wait=wait)

    @method
    def get(self, event_id: str) -> Call[Event]:
        """One event. Raises NotFound, also when whom it is about was erased."""
        return Call(method="GET", path=path_to("events", event_id), read=lambda answer: event_of(_SINGLE(answer)))

    @method
    def list(self, *, cursor: str = "first", types: str | None = None, follow: bool = False) -> Walk[Event]:
        """Every event behind `cursor`, in the order of commits; with `follow`, those that come later, too, without end.

        Keep the `id` of the last event that you have dealt with: it is the `cursor` to go on from. Raises Invalid, with
        the code `expired_cursor` where this event is no longer kept, and what followed it may be gone, too. While
        Leadwire is away, it waits and goes on where it was (see `Retry`); any other 4xx ends it.
        """
        return Walk(_page, {"types": types, "wait": POLL if follow else None}, cursor=cursor, follow=follow)


def _page(**query: Any) -> Call[Page[Event]]:
    return Call(method="GET", path="/v1/events", params=params(**query), read=_read)


def _read(answer: httpx.Response) -> Page[Event]:
    found = _FEED.decode(answer.content)
    shown = [event_of(one) for one in found.data]
    return Page(
        data=shown, total=len(shown), page=1, per_page=len(shown), has_next=found.meta.has_more,
        next_cursor=found.meta.next_cursor, held_back_since=found.meta.held_back_since,
    )  # fmt: skip

"""Pages of a list: the query every list takes, and the `Link` header that leads through it (RFC 8288)."""

from datetime import datetime
from typing import Annotated
from urllib.parse import urlencode

from msgspec import Meta, Struct

from leadwire.infrastructure import ids

Moment = Annotated[datetime, Meta(tz=True)]
"""A moment in a query: whatever `clock.parse` reads."""

BotId = Annotated[str, Meta(pattern=rf"^bot_{ids.FORM}\Z")]


class PageQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every list takes."""

    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    """Results per page."""
    page: Annotated[int, Meta(ge=1, le=10**9)] = 1
    """Page number, from 1. A page past the last one is empty."""

    @property
    def offset(self) -> int:
        """Rows before this page."""
        return (self.page - 1) * self.limit


def links(path: str, pairs: list[tuple[str, str]], query: PageQuery, total: int) -> str:
    """The `Link` header of one page: first, prev, next and last where they exist."""
    last = max(1, -(-total // query.limit))
    pages = {"first": 1, "prev": min(query.page - 1, last), "next": query.page + 1, "last": last}
    if query.page <= 1:
        del pages["prev"]
    if query.page >= last:
        del pages["next"]
    kept = [(name, value) for name, value in pairs if name != "page"]
    return ", ".join(f'<{path}?{urlencode([*kept, ("page", str(n))])}>; rel="{rel}"' for rel, n in pages.items())

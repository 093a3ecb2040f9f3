"""Pages of a list: the query that every list takes."""

from datetime import datetime
from typing import Annotated

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

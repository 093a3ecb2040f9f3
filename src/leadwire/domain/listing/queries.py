"""What lists take."""

from datetime import datetime, timedelta
from typing import Annotated, Self

from msgspec import Meta, Struct, structs

from leadwire.infrastructure import ids

Limit = Annotated[int, Meta(ge=1, le=100)]
Moment = Annotated[datetime, Meta(tz=True)]
"""A moment in a query: whatever `clock.parse` reads."""

BotId = Annotated[str, Meta(pattern=rf"^bot_{ids.FORM}\Z")]


class PageQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the lists of leads and conversations take."""

    limit: Limit = 20
    """Results per page."""
    page: Annotated[int, Meta(ge=1, le=10**9, extra_json_schema={"default": 1})] | None = None
    """Page number, from 1. A page past the last one is empty. Every 10,000 rows before a page count as a request more,
    because they are read. With `cursor` each page is one request."""
    cursor: Annotated[str, Meta(min_length=1, max_length=400)] | None = None
    """Instead of `page`: `first`, then what `meta.next_cursor` of the page before says, with the same filters and
    `sort`. Nothing is skipped or repeated when rows come and go meanwhile. A cursor lasts for 24 hours."""
    sort: str | None = None
    """The order; `-` is descending. By default the newest come first; with `updated_since` or `updated_before`, those
    that changed first."""
    q: Annotated[str, Meta(max_length=200)] | None = None
    """Only those with all of these words, in any case, with or without accents; words in quotation marks must follow
    each other. Of the names, addresses, phone numbers and companies of leads, any three characters or more are enough;
    of the last word in conversations, the first three or more. What has changed is found a second or two later. Words
    that more than 2,000 have are refused (`too_many_found`)."""
    bot_id: BotId | None = None
    """Only those of this bot."""
    since: Moment | None = None
    """Created after this time (exclusive)."""
    until: Moment | None = None
    """Created before this time (exclusive)."""
    updated_since: Moment | None = None
    """Changed after this time (exclusive). Only in the order of `updated_at` or `-updated_at`."""
    updated_before: Moment | None = None
    """Last changed before this time (exclusive). Only in the order of `updated_at` or `-updated_at`."""


class NumberedQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What lists of /v1 take that have pages by number alone: short ones, and those that only grow at their end."""

    limit: Limit = 20
    """Results per page."""
    page: Annotated[int, Meta(ge=1, le=10**9)] = 1
    """Page number, from 1. A page past the last one is empty."""


class SearchQuery(Struct, frozen=True, kw_only=True):
    """What every list on a screen takes. `since` and `until` are days (UTC), both included."""

    q: Annotated[str, Meta(max_length=200)] = ""
    """Words that must all be found, in any case."""
    bot_id: BotId | None = None
    since: Moment | None = None
    until: Moment | None = None
    after: Annotated[str, Meta(max_length=100)] = ""
    """The cursor that the page before gave."""

    def exclusive(self) -> Self:
        """The same with `since` and `until` as moments that are not included themselves, as in /v1."""
        since = self.since and self.since - timedelta(microseconds=1)
        return structs.replace(self, since=since, until=self.until and self.until + timedelta(days=1))

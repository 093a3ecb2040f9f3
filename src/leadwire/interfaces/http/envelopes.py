"""The two envelopes of the specification: `{"data"}` for one, `{"data", "meta"}` for a page."""

from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class PageMeta(Struct, frozen=True):
    """Where a page is in its list."""

    total: int
    """All that match, not only those on this page. Exact."""
    page: int
    """The number of this page, from 1."""
    per_page: int
    """The most that a page holds: the `limit` of the request."""


class Single(Struct, Generic[T], frozen=True):
    """One resource."""

    data: T
    """The resource."""


class Page(Struct, Generic[T], frozen=True):
    """A page of a list."""

    data: list[T]
    """The resources on this page; none past the last page."""
    meta: PageMeta
    """Where this page is in the list."""

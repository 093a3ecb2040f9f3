"""The two envelopes of the specification: `{"data"}` for one, `{"data", "meta"}` for a page."""

from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class PageMeta(Struct, frozen=True):
    """`total` is exact: all that match, not only those on this page."""

    total: int
    page: int
    per_page: int


class Single(Struct, Generic[T], frozen=True):
    """One resource."""

    data: T


class Page(Struct, Generic[T], frozen=True):
    """A page of a list."""

    data: list[T]
    meta: PageMeta

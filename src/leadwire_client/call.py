"""One call of the API without its I/O: what to send, and what the answer means. Shared by both clients."""

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from leadwire_client import errors
from leadwire_client.http_client import httpx
from leadwire_client.types import Lead, Page

T = TypeVar("T")

Moment = datetime | date | str
"""A datetime with a time zone, a date (its midnight UTC), or ISO 8601 text."""


class Call(Struct, Generic[T], frozen=True, kw_only=True):
    """A request, the same on every attempt, and the reader of a good answer."""

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    params: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    content: bytes | None = None
    once: bool = False
    """Whether to send it again would do it again."""

    @property
    def waits(self) -> float:
        """Seconds that the server was asked to wait before it answers."""
        return float(self.params.get("wait", 0))

    def request(self) -> dict[str, Any]:
        """The arguments for httpx."""
        options = {"params": self.params, "headers": self.headers, "content": self.content}
        return {"method": self.method, "url": self.path, **options}

    def result(self, outcome: httpx.Response | httpx.RequestError) -> T:
        """Return the result of the call, or raise its error, given how its last attempt ended."""
        if isinstance(outcome, httpx.RequestError):
            raise errors.Unreachable(f"{self.method} {self.path}: {errors.words(outcome)}") from outcome
        if not outcome.is_success:
            raise errors.of(outcome)
        try:
            return self.read(outcome)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise errors.Unreadable(f"{self.method} {self.path}: {error}") from error


class Lines(Generic[T]):
    """A download of lines, and where to go on with it."""

    method = "GET"
    path: str
    headers: Mapping[str, str] = {}

    @property
    def params(self) -> Mapping[str, str]:
        """The query that asks for what is still missing."""
        raise NotImplementedError

    def rows(self, lines: Iterable[bytes]) -> Iterator[T]:
        """The rows of whole lines."""
        raise NotImplementedError

    def are_all(self, asked: Mapping[str, str], kept: bytes) -> bool:
        """Whether nothing is missing after an answer to `asked` that left `kept` of a line: it had no row at all.

        A proxy can end a body that broke off as if it were whole. Raises httpx.RemoteProtocolError for half a row.
        """
        if kept and self.params == asked:
            raise httpx.RemoteProtocolError("the body ended within a row")
        return self.params == asked

    def request(self) -> dict[str, Any]:
        """The arguments for httpx."""
        return {"method": self.method, "url": self.path, "params": self.params}

    def refused(self, outcome: httpx.Response | httpx.RequestError) -> Exception:
        """The error of a download, given how its last attempt ended."""
        if isinstance(outcome, httpx.Response):
            return errors.of(outcome)
        return errors.Unreachable(f"{self.method} {self.path}: {errors.words(outcome)}")


def path_to(collection: str, identifier: str, action: str = "") -> str:
    """The path of one object. Raises ValueError for an empty id, which would name the whole collection."""
    if not identifier:
        raise ValueError("the id is empty")
    return f"/v1/{collection}/{quote(identifier, safe='')}{action}"


def params(**given: Any) -> dict[str, str]:
    """The query parameters of what was given; None is left out. Raises ValueError for a datetime without a zone."""
    return {name: _text(value) for name, value in given.items() if value is not None}


def change_headers(idempotency_key: str | None, if_match: Lead | None = None) -> dict[str, str]:
    """The headers that make a change safe to repeat. Raises ValueError when `if_match` has no version."""
    headers = {"Idempotency-Key": idempotency_key or secrets.token_hex(16)}
    if if_match is not None:
        if if_match.etag is None:
            raise ValueError("if_match: a lead of a list or an event does not tell its version, get it first")
        headers["If-Match"] = if_match.etag
    return headers


class _Single(Struct, Generic[T]):
    data: T


class _Meta(Struct):
    total: int
    page: int
    per_page: int
    next_cursor: str | None = None
    complete: bool = True


class _Envelope(Struct, Generic[T]):
    data: list[T]
    meta: _Meta


def single(kind: type[T]) -> Callable[[httpx.Response], T]:
    """The reader of one resource."""
    decoder = msgspec.json.Decoder(_Single[kind])  # type: ignore[valid-type]
    return lambda answer: decoder.decode(answer.content).data


def page(kind: type[T]) -> Callable[[httpx.Response], Page[T]]:
    """The reader of one page."""
    decoder = msgspec.json.Decoder(_Envelope[kind])  # type: ignore[valid-type]

    def read(answer: httpx.Response) -> Page[T]:
        found = decoder.decode(answer.content)
        has_next = found.meta.next_cursor is not None or "next" in answer.links
        return Page(data=found.data, has_next=has_next, **msgspec.structs.asdict(found.meta))

    return read


def _text(value: Any) -> str:
    if isinstance(value, datetime) and value.tzinfo is None:
        raise ValueError("a datetime needs a time zone, as in datetime.now(UTC)")
    return value.isoformat() if isinstance(value, date) else str(value)

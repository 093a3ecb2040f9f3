"""Sending calls and sleeping between them, blocking and for asyncio, and the methods that both share.

When to send again is decided in `retry`.
"""

import asyncio
import functools
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from msgspec import Struct

from leadwire_client.call import Call, Lines
from leadwire_client.http_client import httpx
from leadwire_client.retry import Attempts, Retry
from leadwire_client.walk import Walk

P = ParamSpec("P")
B = TypeVar("B")
T = TypeVar("T")


class Connection(Struct, frozen=True):
    """To one server with one key."""

    http: httpx.Client
    timeout: float
    retry: Retry

    def run(self, call: Call[T], *, endless: bool = False) -> T:
        """Send `call`, again where that may help (with `endless`, for ever), and return its result."""
        attempts = Attempts(self.retry, endless=endless, once=call.once)
        while True:
            outcome = self._send(call, attempts.timeout(self.timeout, call.waits))
            if (wait := attempts.wait_after(outcome)) is None:
                return call.result(outcome)
            time.sleep(wait)

    def walk(self, walk: Walk[T]) -> Iterator[T]:
        """The rows of every page."""
        while walk.call:
            yield from walk.rows(self.run(walk.call, endless=walk.follow))

    def download(self, lines: Lines[T]) -> Iterator[T]:
        """The rows of a download, which is resumed where it breaks off."""
        attempts = Attempts(self.retry)
        while True:
            kept, asked = b"", lines.params
            outcome: httpx.Response | httpx.RequestError
            try:
                with self.http.stream(timeout=self.timeout, **lines.request()) as answer:
                    if answer.is_success:
                        for part in answer.iter_bytes():
                            *whole, kept = (kept + part).split(b"\n")
                            yield from lines.rows(whole)
                            attempts = Attempts(self.retry) if whole else attempts
                        if lines.are_all(asked, kept):
                            return
                        continue
                    answer.read()
                    outcome = answer
            except httpx.RequestError as error:
                outcome = error
            if (wait := attempts.wait_after(outcome)) is None:
                raise lines.refused(outcome)
            time.sleep(wait)

    def _send(self, call: Call[T], timeout: httpx.Timeout) -> httpx.Response | httpx.RequestError:
        try:
            return self.http.request(timeout=timeout, **call.request())
        except httpx.RequestError as error:
            return error


class AsyncConnection(Struct, frozen=True):
    """`Connection`, to be awaited."""

    http: httpx.AsyncClient
    timeout: float
    retry: Retry

    async def run(self, call: Call[T], *, endless: bool = False) -> T:
        """Send `call`, again where that may help (with `endless`, for ever), and return its result."""
        attempts = Attempts(self.retry, endless=endless, once=call.once)
        while True:
            outcome = await self._send(call, attempts.timeout(self.timeout, call.waits))
            if (wait := attempts.wait_after(outcome)) is None:
                return call.result(outcome)
            await asyncio.sleep(wait)

    async def walk(self, walk: Walk[T]) -> AsyncIterator[T]:
        """The rows of every page."""
        while walk.call:
            for row in walk.rows(await self.run(walk.call, endless=walk.follow)):
                yield row

    async def download(self, lines: Lines[T]) -> AsyncIterator[T]:
        """The rows of a download, which is resumed where it breaks off."""
        attempts = Attempts(self.retry)
        while True:
            kept, asked = b"", lines.params
            outcome: httpx.Response | httpx.RequestError
            try:
                async with self.http.stream(timeout=self.timeout, **lines.request()) as answer:
                    if answer.is_success:
                        async for part in answer.aiter_bytes():
                            *whole, kept = (kept + part).split(b"\n")
                            for row in lines.rows(whole):
                                yield row
                            attempts = Attempts(self.retry) if whole else attempts
                        if lines.are_all(asked, kept):
                            return
                        continue
                    await answer.aread()
                    outcome = answer
            except httpx.RequestError as error:
                outcome = error
            if (wait := attempts.wait_after(outcome)) is None:
                raise lines.refused(outcome)
            await asyncio.sleep(wait)

    async def _send(self, call: Call[T], timeout: httpx.Timeout) -> httpx.Response | httpx.RequestError:  # noqa: ASYNC109
        try:
            return await self.http.request(timeout=timeout, **call.request())
        except httpx.RequestError as error:
            return error


class Closing:
    """What has a blocking connection: close it, or use it as a context manager."""

    _http: httpx.Client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


class AsyncClosing:
    """`Closing`, to be awaited."""

    _http: httpx.AsyncClient

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()


C = TypeVar("C", Connection, AsyncConnection)


class Resource(Generic[C]):
    """A part of the API. Its methods block, or are to be awaited, as its connection is."""

    def __init__(self, connection: C) -> None:
        self.connection: C = connection


class method(Generic[P, B]):  # noqa: N801 - a decorator
    """Turn a function that builds a call into the method that sends it, one that builds a walk or a download into its
    iterator.

    So each method is written once for both clients. Taken from the class it is the function itself.
    """

    def __init__(self, build: Callable[Concatenate[Any, P], B]) -> None:
        self.build = build

    @overload
    def __get__(self: "method[P, Call[T]]", of: Resource[Connection], owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(
        self: "method[P, Call[T]]", of: Resource[AsyncConnection], owner: type
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self: "method[P, Walk[T]]", of: Resource[Connection], owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(
        self: "method[P, Walk[T]]", of: Resource[AsyncConnection], owner: type
    ) -> Callable[P, AsyncIterator[T]]: ...
    @overload
    def __get__(self: "method[P, Lines[T]]", of: Resource[Connection], owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(
        self: "method[P, Lines[T]]", of: Resource[AsyncConnection], owner: type
    ) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, of: Resource[Any] | None, owner: type) -> Callable[..., Any]:
        if of is None:
            return self.build
        build, connection = MethodType(self.build, of), of.connection

        @functools.wraps(build)
        def send(*args: Any, **kwargs: Any) -> Any:
            built = build(*args, **kwargs)
            if isinstance(built, Lines):
                return connection.download(built)
            return connection.walk(built) if isinstance(built, Walk) else connection.run(built)

        return send

"""The statements that a test itself sends: nothing of what another test has left to be written later."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import asyncpg

from leadwire.infrastructure import db

Statement = tuple[str, Sequence[Any]]
Listener = Callable[[str, Sequence[Any]], Awaitable[None]]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_fetch = type(db.DB).fetch


async def _heard(engine: Any, sql: str, args: Sequence[Any]) -> list[asyncpg.Record]:
    if (listener := _listener.get()) is not None:
        with before_each(None):
            await listener(sql, args)
    return await _fetch(engine, sql, args)


# Once for all tests. Put in place and taken out by each, the order of two tasks would decide what stays.
type(db.DB).fetch = _heard


@contextmanager
def before_each(listener: Listener | None) -> Iterator[None]:
    """Call `listener` before each statement of the block, and of the tasks that are made in it; not for its own."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def sent() -> Iterator[list[Statement]]:
    """The statements of the block, and of the tasks that are made in it, with their values."""
    notes: list[Statement] = []

    async def note(sql: str, args: Sequence[Any]) -> None:
        notes.append((sql, args))

    with before_each(note):
        yield notes

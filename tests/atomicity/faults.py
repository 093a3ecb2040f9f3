"""Faults between the application and PostgreSQL, at a chosen word of the conversation between the two.

A word is all that is sent at once: a statement, BEGIN, COMMIT. An error after COMMIT is the answer that never came.
"""

import asyncio
import contextlib
from collections.abc import Iterator
from contextvars import Context, ContextVar
from typing import Literal, NamedTuple

from leadwire.infrastructure import db
from leadwire.infrastructure.db.pool import Connection

Kind = Literal["error after", "killed before"]


class Broken(OSError):
    """The injected error: what asyncpg raises when the network fails."""


class Fault(NamedTuple):
    """Something that happens at the `at`-th word, counted from 0."""

    kind: Kind
    at: int


class Injection:
    """A fault that waits for its moment."""

    def __init__(self, fault: Fault | None) -> None:
        self.fault = fault
        self.words = 0
        self.fired = False

    def due(self) -> Kind | None:
        """The kind of fault that is to happen at this word."""
        here, self.words = self.words, self.words + 1
        if self.fault is None or here != self.fault.at:
            return None
        self.fired = True
        return self.fault.kind


_injection: ContextVar[Injection | None] = ContextVar("injection", default=None)


@contextlib.contextmanager
def injected(fault: Fault | None) -> Iterator[Injection]:
    """Let the fault happen to what runs inside the block. Tasks that are begun in a context of their own are spared."""
    injection = Injection(fault)
    token = _injection.set(injection)
    try:
        yield injection
    finally:
        _injection.reset(token)


def install(monkeypatch) -> None:
    """Make connections ask for faults."""
    for name in ("fetch", "execute"):
        monkeypatch.setattr(Connection, name, _faulty(getattr(Connection, name)))


def _faulty(send):
    async def said(connection, *args, **options):
        injection = _injection.get()
        due = injection.due() if injection else None
        if due == "killed before":
            await _kill(connection.get_server_pid())
        answer = await send(connection, *args, **options)
        if due == "error after":
            raise Broken("the network failed")
        return answer

    return said


async def _kill(pid: int) -> None:
    """End a connection's server process, and wait until it is gone."""
    killing = db.value("SELECT pg_terminate_backend($1, 5000)", pid)
    assert await asyncio.get_running_loop().create_task(killing, context=Context())

"""A customer as the harness plays them: their rows, their API, and what they have done so far."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, Self, TypeVar

import asyncpg
import httpx

from leadwire.domain.webhooks import receivers
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import DomainError
from ops.chaos import load
from ops.chaos.journal import Journal
from ops.chaos.load import Workload
from ops.chaos.records import FETCHED, Act

_AGAIN: Final = 0.2  # seconds
_LIMIT: Final = 300.0  # seconds until an answer; faults are over by then, and a machine may be busy
_TIMEOUT: Final = 10.0  # seconds of a request
_AWAY: Final = (*db.GONE, db.Locked, db.Deadlock, db.Canceled, asyncpg.RaiseError)
"""What a customer tries again: also what a bad member of theirs (`members`) raises."""

T = TypeVar("T")


class Customer:
    """`async with Customer(...) as customer`. `changing` is the name of the endpoint that is changed and made anew."""

    def __init__(self, workload: Workload, journal: Journal, url: str) -> None:
        self.workload, self.journal = workload, journal
        self.workspace = workload.workspace
        self.endpoints = dict(workload.endpoints)
        self.secrets = dict(workload.secrets)
        self.changing = "changing-1"
        self.since = {self.changing: float("inf")}  # when it was enabled for good
        self.changing_busy = asyncio.Lock()
        self.tokens: dict[str, str] = {}
        self.mortals = list(workload.mortals)
        self.acts: list[Act] = []
        self.refused: list[tuple[float, str]] = []  # when, and what
        self._client = httpx.AsyncClient(base_url=url, timeout=_TIMEOUT, trust_env=False)

    async def __aenter__(self) -> Self:
        for name in (FETCHED, "flaky"):
            self.tokens[name] = await receivers.make_token(self.workspace, self.endpoints[name])
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def done(self, kind: str, target: str, work: Callable[[], Awaitable[object]], *events: str) -> None:
        """Do `work` as often as it takes to get an answer, and note it."""
        asked, refusal = time.time(), ""
        try:
            await self.answered(work)
        except DomainError as error:
            refusal = error.code
        self.acts.append(Act(kind, target, asked, time.time(), events, refusal))

    async def answered(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do `work` until the database answers. Raise DomainError for a refusal."""
        end = time.monotonic() + _LIMIT
        while True:
            try:
                return await work()
            except _AWAY:
                if time.monotonic() > end:
                    raise
            await asyncio.sleep(_AGAIN)

    async def ask(self, method: str, path: str, token: str = "", **options: Any) -> httpx.Response:
        """Send a request until it is answered. A 500 is noted: nobody may get one."""
        end = time.monotonic() + _LIMIT
        while True:
            try:
                answer = await self.once(method, path, token, **options)
                if answer.status_code < 500 and answer.status_code not in (409, 429):
                    return answer
                if answer.status_code == 500:
                    self.refused.append((time.time(), f"{method} {path}: 500"))
            except httpx.HTTPError:
                pass
            if time.monotonic() > end:
                raise TimeoutError(f"{method} {path} is not answered")
            await asyncio.sleep(_AGAIN)

    async def once(self, method: str, path: str, token: str = "", **options: Any) -> httpx.Response:
        """Send a request once, with the API key or another token. Raise httpx.HTTPError without an answer."""
        headers = {"Authorization": f"Bearer {token or self.workload.key}"}
        return await self._client.request(method, path, headers=headers, **options)

    async def add_endpoint(self, name: str) -> None:
        """Make an endpoint that is enabled."""
        made = await self.answered(lambda: load.create_endpoint(self.workspace, name, self.journal.url(name)))
        self.journal.add(name, made.secret)
        self.endpoints[name] = made.id

"""A workspace that floods the database makes no other workspace wait: not its API, its pages or its visitors."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import httpx
import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.bots.flow import library
from leadwire.infrastructure import db
from leadwire.infrastructure.db import shares
from leadwire.infrastructure.db.engine import LIMITS
from leadwire_development.embedded import Services
from tests import asgi, make
from tests.interfaces.web.conftest import signed_in
from tests.waiting import eventually

MANY = 30
SHARE = 8  # of the tests' ten connections


class Tenant:
    """A workspace with a lead, and a caller with its key."""

    def __init__(self, workspace: str, bot: str, lead: str, key: str) -> None:
        self.workspace, self.bot, self.lead = workspace, bot, lead
        self.api = httpx.AsyncClient(
            transport=asgi.transport(), base_url="http://test", headers={"Authorization": f"Bearer {key}"}
        )

    async def patch(self) -> int:
        return (await self.api.patch(f"/v1/leads/{self.lead}", json={"name": "Changed"})).status_code


async def tenant(name: str) -> Tenant:
    workspace = await accounts.create_workspace(name)
    bot = await bots.create(workspace, "Bot")
    await bots.save_draft(workspace, bot, library.text("lead-qualification"))
    await bots.publish(workspace, bot)
    _, key = await accounts.create_key(workspace, "test")
    return Tenant(workspace, bot, (await make.lead(workspace, bot)).id, key)


@asynccontextmanager
async def locked(servers: Services, *leads: str) -> AsyncIterator[None]:
    """Somebody else has locked these rows until the end of the block."""
    elsewhere: asyncpg.Connection = await asyncpg.connect(servers.database_url)
    try:
        async with elsewhere.transaction():
            await elsewhere.execute("SELECT 1 FROM lead WHERE id = ANY($1) FOR UPDATE", leads)
            yield
    finally:
        await elsewhere.close()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing ends a statement that waits: what is answered was not helped by a limit of time."""
    monkeypatch.setitem(LIMITS, "api", None)
    monkeypatch.setitem(LIMITS, "pages", None)


async def flood(noisy: Tenant) -> "list[asyncio.Task[int]]":
    """More changes of a locked row than there are connections. Return when some of them wait for a connection."""
    before = db.pool_use()["held_back"]
    sent = [asyncio.create_task(noisy.patch()) for _ in range(MANY)]
    await eventually(lambda: db.pool_use()["held_back"] >= before + MANY - SHARE)
    return sent


async def all_that_it_may_have() -> bool:
    """Whether one workspace has its share of the connections, and a lock is waited for on each."""
    waiting = await db.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    return bool(waiting == SHARE)


async def is_served(quiet: Tenant, email: str) -> None:
    async with asyncio.timeout(240):
        assert await quiet.patch() == 200
        for path in ("/v1/leads", f"/v1/leads/{quiet.lead}", "/v1/conversations"):
            assert (await quiet.api.get(path)).status_code == 200
        line = {"content": "Hello", "client_message_id": secrets.token_hex(12)}
        started = await quiet.api.post(f"/widget/v1/bots/{quiet.bot}/conversations", json=line)
        assert started.status_code == 201
        async with signed_in(quiet.workspace, "admin", email) as browser:
            for page in ("/leads", "/", "/webhooks"):
                await browser.open(page)


async def test_requests_that_wait_for_a_lock_keep_no_other_workspace_waiting(
    database: None, servers: Services, patient: None
) -> None:
    noisy, loud, quiet = [await tenant(name) for name in ("noisy", "loud", "quiet")]
    async with locked(servers, noisy.lead, loud.lead):
        sent = await flood(noisy)
        await is_served(quiet, "first@example.com")
        sent += await flood(loud)
        await is_served(quiet, "second@example.com")
        assert not any(one.done() for one in sent)
    assert set(await asyncio.gather(*sent)) == {200}


async def test_a_workspace_with_too_many_waiting_requests_is_told_to_come_later(
    database: None, servers: Services, patient: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    noisy, quiet = [await tenant(name) for name in ("noisy", "quiet")]
    monkeypatch.setattr(shares, "MOST_WAITING", 10)
    async with locked(servers, noisy.lead):
        sent = [asyncio.create_task(noisy.patch()) for _ in range(MANY)]
        await eventually(all_that_it_may_have)
        sent += [asyncio.create_task(noisy.patch()) for _ in range(10)]
        await eventually(lambda: db.pool_use()["awaited"] == 10)
        refused = await noisy.api.get("/v1/leads")
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        assert refused.headers["retry-after"] == "1"
        assert (await quiet.api.get("/v1/leads")).status_code == 200
    assert sorted(set(await asyncio.gather(*sent))) == [200, 429]
    told = [record for record in caplog.records if record.message == "request.crowded"]
    assert {record.levelno for record in told} == {logging.WARNING}

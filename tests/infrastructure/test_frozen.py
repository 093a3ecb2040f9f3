"""A PostgreSQL server that is frozen: whoever waits for it is told, and another host is taken."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import httpx
import pytest

from leadwire.infrastructure import db
from leadwire.infrastructure.db import hosts
from leadwire_development.embedded import Services
from tests import make
from tests.delivery.elsewhere import moved_to
from tests.frozen import Freezer
from tests.waiting import eventually

ONCE = {"Idempotency-Key": "once"}
UNKNOWN = "may or may not have been made"


@pytest.fixture
async def freezer(servers: Services, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Freezer]:
    for name, seconds in {
        "_WATCH_EVERY": 0.1,
        "_SILENCE": 1.5,
        "_ONLY_HOST_TIMEOUT": 1.5,
        "_HOST_TIMEOUT": 1.5,
    }.items():
        monkeypatch.setattr(hosts, name, seconds)
    async with Freezer(servers.database_url) as freezer:
        yield freezer


@pytest.fixture
async def lead(workspace: str, bot: str) -> str:
    """The path of a lead whose events so far are forgotten."""
    path = f"/v1/leads/{(await make.lead(workspace, bot)).id}"
    await make.emitted(forget=True)
    return path


@pytest.mark.parametrize("delivered", [True, False])
async def test_a_commit_that_is_not_answered_is_a_503_that_says_so_and_can_be_repeated(
    freezer: Freezer, client: httpx.AsyncClient, lead: str, *, delivered: bool
) -> None:
    async def change() -> httpx.Response:
        return await client.patch(lead, json={"name": "Grace"}, headers=ONCE)

    async with moved_to(freezer.url, "api"):
        freezer.freeze_at(b"COMMIT", delivered=delivered)
        answer = await asyncio.wait_for(change(), 240)
        assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (503, "unavailable", "5")
        assert UNKNOWN in answer.json()["detail"]
        freezer.thaw()

        async def repeated() -> httpx.Response | None:
            again = await change()
            return again if again.status_code not in (409, 503) else None

        again = await eventually(repeated)
        assert (again.status_code, again.json()["data"]["name"]) == (200, "Grace")
        assert ("idempotent-replayed" in again.headers) == delivered
        assert await make.kinds() == ["lead.updated"]


async def test_a_change_without_a_transaction_of_its_own_is_as_unknown_and_a_read_is_not(
    freezer: Freezer, client: httpx.AsyncClient, lead: str
) -> None:
    async with moved_to(freezer.url, "api"):
        for needle, request, unknown in (
            (b"INSERT INTO event", client.patch(lead, json={"name": "Grace"}), True),
            (b"pg_current_snapshot", client.get("/v1/leads"), False),
        ):
            freezer.freeze_at(needle, delivered=False)
            answer = await asyncio.wait_for(request, 240)
            assert answer.status_code == 503
            assert (UNKNOWN in answer.json()["detail"]) == unknown
            freezer.thaw()


async def test_everybody_who_waits_for_a_connection_is_told(freezer: Freezer, database: None) -> None:
    async with moved_to(freezer.url, "engine"):
        freezer.freeze_at(b"pg_sleep", delivered=True)
        waiting = [asyncio.create_task(db.rows("SELECT pg_sleep(0)")) for _ in range(40)]
        ended = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 240)
        assert all(isinstance(one, db.GONE) for one in ended)
        freezer.thaw()

        async def works() -> bool:
            with contextlib.suppress(*db.GONE):
                return bool(await db.value("SELECT 1") == 1)
            return False

        await eventually(works)


async def test_another_host_is_taken_and_the_frozen_one_is_tried_last(
    freezer: Freezer, servers: Services, database: None
) -> None:
    place = servers.database_url.partition("host=")[2].partition("&")[0]
    url = f"postgresql://postgres@/leadwire?host=127.0.0.1,{place}&port={freezer.port},5432&sslmode=disable"
    async with moved_to(url, "engine"):
        assert await db.value("SELECT 1") == 1
        freezer.freeze_at(b"pg_sleep", delivered=False)
        with pytest.raises(db.GONE):
            await asyncio.wait_for(db.rows("SELECT pg_sleep(0)"), 240)
        assert freezer.frozen
        assert await asyncio.wait_for(db.rows("SELECT pg_sleep(0)"), 240)


async def test_a_connection_that_finds_another_host_first_leaves_nobody_behind(
    freezer: Freezer, servers: Services, database: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "_WATCH_EVERY", 3600.0)
    place = servers.database_url.partition("host=")[2].partition("&")[0]
    url = f"postgresql://postgres@/leadwire?host=127.0.0.1,{place}&port={freezer.port},5432&sslmode=disable"
    async with moved_to(url, "engine"):
        freezer.freeze_at(b"pg_sleep", delivered=False)
        waiting = [asyncio.create_task(db.rows("SELECT pg_sleep(0)")) for _ in range(4)]  # two need a new connection
        ended = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 240)
        assert [isinstance(one, db.GONE) for one in ended].count(True) == 2


async def test_a_statement_that_takes_long_on_a_server_that_answers_goes_on(freezer: Freezer, database: None) -> None:
    async with moved_to(freezer.url, "engine"):
        assert await db.value("SELECT pg_sleep(4) IS NOT NULL")

"""Lists, exports and pages come from a standby where that is known to be good enough, and else from the primary."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from ops.drills.servers import Servers

from leadwire.development.embedded import Services
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.leads import reads
from leadwire.infrastructure import db, redis_pool, settings, standby_reads
from leadwire.infrastructure.db import DB, standby
from leadwire.infrastructure.db.standby import BEHIND, Standby
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.telemetry.metrics import REGISTRY
from tests import make
from tests.delivery import elsewhere
from tests.delivery.elsewhere import standby_url
from tests.flows.commands import run, settings_on
from tests.frozen import Freezer
from tests.interfaces.web.conftest import signed_in
from tests.interfaces.web.test_lead import opened
from tests.waiting import eventually

FAR_BEHIND = 600.0  # seconds that a standby whose replay is paused may take


@pytest.fixture(scope="module")
async def pair(servers: Services, connected: None) -> AsyncIterator[Servers]:
    async with elsewhere.standby(servers, settings.get().data_dir) as pair:
        yield pair


@pytest.fixture
async def lead(workspace: str, bot: str) -> str:
    """The id of Ada, a lead."""
    return (await make.lead(workspace, bot)).id


@pytest.fixture
async def other(workspace: str) -> dict[str, str]:
    """The header of another API key."""
    _, key = await accounts.create_key(workspace, "other")
    return {"Authorization": f"Bearer {key}"}


@asynccontextmanager
async def following(url: str, lag: float = FAR_BEHIND, *, used: bool = True) -> AsyncIterator[Standby]:
    """Inside the block a standby is known; when it begins, it has all there is and is used, or is not used."""
    async with standby_reads.following(Settings(replica_url=url, replica_lag=lag)):
        known = DB.standby
        assert known is not None
        await eventually(lambda: bool(known.unused_because) != used)
        if used:
            await caught_up(known)
        yield known


async def caught_up(known: Standby) -> None:
    """Wait until the standby has replayed all that is committed now."""
    end = await known.position()
    await db.rows("SELECT pg_logical_emit_message(true, '', '')")  # what comes next, so that all before it is sent
    await eventually(lambda: known.has(end))


@asynccontextmanager
async def paused(pair: Servers) -> AsyncIterator[None]:
    """The standby stays as it is."""
    connection = await pair.connect(pair.standby_run)
    await connection.execute("SELECT pg_wal_replay_pause()")

    async def stands() -> bool:
        return bool(await connection.fetchval("SELECT pg_get_wal_replay_pause_state() = 'paused'"))

    await eventually(stands)
    try:
        yield
    finally:
        await connection.execute("SELECT pg_wal_replay_resume()")
        await connection.close()


async def names(client: httpx.AsyncClient, headers: dict[str, str] | None = None) -> list[str]:
    """Those of the list of leads."""
    answer = await client.get("/v1/leads", headers=headers)
    assert answer.status_code == 200, answer.text
    return [one["name"] for one in answer.json()["data"]]


async def total(client: httpx.AsyncClient) -> int:
    return int((await client.get("/v1/leads")).json()["meta"]["total"])


def counted(read_from: str) -> float:
    return REGISTRY.get_sample_value("leadwire_replica_requests_total", {"read_from": read_from}) or 0


async def test_who_has_changed_something_sees_it_and_others_a_moment_later(pair, client, lead, other) -> None:
    async with following(standby_url(pair)) as known:
        async with paused(pair):
            assert (await client.patch(f"/v1/leads/{lead}", json={"name": "Grace"})).status_code == 200
            before = counted("primary")
            assert await names(client) == ["Grace"]
            assert counted("primary") == before + 1
            assert await names(client, other) == ["Ada"]
        await caught_up(known)
        before = counted("standby")
        assert await names(client) == await names(client, other) == ["Grace"]
        assert counted("standby") == before + 2


async def test_a_person_sees_their_own_change_on_every_list_and_in_an_export(pair, workspace, lead) -> None:
    async with (
        signed_in(workspace, "admin", "ada@example.org") as admin,
        signed_in(workspace, "agent", "bo@example.org") as agent,
        following(standby_url(pair)),
        paused(pair),
    ):
        form = await opened(admin, (await reads.stored(workspace, lead)).lead)
        await admin.fill(f"/leads/{lead}", **{**form, "name": "Grace"})
        assert "Grace" in await admin.open("/leads")
        assert "Grace" not in await agent.open("/leads")
        assert "Grace" in await agent.open(f"/leads/{lead}")  # one object comes from the primary
        for browser, name in ((admin, "Grace"), (agent, "Ada")):
            await browser.open("/account")
            file = await browser.post("/leads/export", data={"form_token": browser.token, "format": "json"})
            assert [one["name"] for one in file.json()] == [name]


async def test_where_redis_is_away_everything_comes_from_the_primary(pair, client, lead, monkeypatch) -> None:
    async with following(standby_url(pair)), paused(pair):
        away = redis_pool.create_client("redis://127.0.0.1:1")
        monkeypatch.setattr(redis_pool, "_client", away)
        assert (await client.patch(f"/v1/leads/{lead}", json={"name": "Grace"})).status_code == 200
        assert await names(client) == ["Grace"]
        await away.aclose()


async def test_totals_are_exact_beside_a_transaction_that_is_open_on_the_primary(pair, client, workspace, bot) -> None:
    opened, go = asyncio.Event(), asyncio.Event()

    async def slowly() -> None:
        async with db.transaction():
            await make.lead(workspace, bot, email="slow@example.com")
            opened.set()
            await go.wait()

    async with following(standby_url(pair)) as known, asyncio.TaskGroup() as tasks:
        assert await total(client) == 0
        slow = tasks.create_task(slowly())
        await opened.wait()
        await make.lead(workspace, bot, email="quick@example.com")
        await caught_up(known)
        before = counted("standby")
        assert await total(client) == 1
        go.set()
        await slow
        await caught_up(known)
        assert await total(client) == 2
        assert counted("standby") == before + 2


async def test_a_standby_that_freezes_or_goes_away_costs_nobody_an_answer(pair, client, lead, other) -> None:
    async with Freezer(standby_url(pair)) as freezer, following(freezer.url) as known:
        freezer.freeze_at(b"pg_current_snapshot", delivered=False)
        assert (await client.patch(f"/v1/leads/{lead}", json={"name": "Grace"})).status_code == 200
        assert await asyncio.wait_for(names(client, other), 30) == ["Grace"]
        assert freezer.frozen
        assert known.failures == 1
        before = counted("unused")
        assert await names(client, other) == ["Grace"]
        assert counted("unused") == before + 1
        freezer.thaw()
        await eventually(lambda: not known.unused_because)
        await caught_up(known)
        before = counted("standby")
        assert await names(client, other) == ["Grace"]
        assert counted("standby") == before + 1
        freezer._server.close()
        freezer._hang_up()
        assert await names(client, other) == ["Grace"]
        await eventually(lambda: "onnect" in known.unused_because)


async def test_one_that_lags_too_far_is_left_until_it_has_caught_up(pair, client, lead, other) -> None:
    async with following(standby_url(pair), 2.0) as known:
        async with paused(pair):
            assert (await client.patch(f"/v1/leads/{lead}", json={"name": "Grace"})).status_code == 200
            await eventually(lambda: known.unused_because == BEHIND)
            assert (REGISTRY.get_sample_value("leadwire_replica_lag_seconds") or 0) > 2
            assert await names(client, other) == ["Grace"]
        await eventually(lambda: not known.unused_because)


async def test_what_is_no_standby_of_the_primary_is_not_read_from(pair, servers, client, lead) -> None:
    for url, reason in (
        (servers.database_url, "it is no standby"),
        (standby_url(pair).replace("@/leadwire", "@/postgres"), "it is no standby of ours, but postgres of "),
        (standby_url(pair).replace("@/leadwire", "@/nothing"), 'database "nothing" does not exist'),
    ):
        async with following(url, used=False) as known:
            assert known.unused_because.startswith(reason)
            assert await names(client) == ["Ada"]


async def test_of_several_hosts_the_one_that_is_a_standby_is_taken_and_doctor_agrees(pair, servers, database) -> None:
    url = f"postgresql://postgres@/leadwire?host={pair.run},{pair.standby_run}&port=5432,5432"
    async with following(url) as known:
        assert known.unused_because == ""
    assert (await told_by_doctor(servers, url))["level"] == "ok"
    about = await told_by_doctor(servers, f"postgresql://postgres@/leadwire?host={pair.run}")
    assert (about["level"], about["says"]) == ("warning", "it is no standby")
    assert "LEADWIRE_REPLICA_URL" in about["fix"]
    assert (await told_by_doctor(servers, "postgresql://host:port/x"))["level"] == "error"


async def told_by_doctor(servers: Services, url: str) -> dict[str, str]:
    """What `leadwire doctor` says of a standby."""
    done = await asyncio.to_thread(run, "doctor", "--json", REPLICA_URL=url, **settings_on(servers))
    (found,) = [one for one in json.loads(done.stdout)["findings"] if one["about"] == "PostgreSQL replica"]
    return dict(found)


async def test_an_address_that_cannot_be_used_is_one_line(database) -> None:
    with pytest.raises(OperatorError, match="LEADWIRE_REPLICA_URL cannot be used: "):
        async with standby_reads.following(Settings(replica_url="postgresql://host:port/x")):
            pass
    await db.close_standby()


async def test_a_standby_that_is_not_there_yet_holds_up_no_start(database, client, lead) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://postgres@127.0.0.1:{silent.getsockname()[1]}/leadwire"
        async with following(url, used=False) as known:
            assert known.unused_because
            assert await names(client) == ["Ada"]


async def test_what_a_standby_does_not_have_is_read_and_every_change_made_on_the_primary(pair, database) -> None:
    async with following(standby_url(pair)) as known, paused(pair):
        with db.acting_as("api"):
            db.read_from_standby()
            await db.rows("INSERT INTO epoch (server, first_position, started_at) VALUES ('x', 0, now())")
            assert await db.value("SELECT count(*) FROM epoch WHERE server = 'x'") == 0
            async with db.transaction():
                assert await db.value("SELECT count(*) FROM epoch WHERE server = 'x'") == 1
            await DB._run_on(DB.connections, "CREATE TABLE brand_new AS SELECT 7 AS n", ())
            assert await db.value("SELECT n FROM brand_new") == 7
            assert known.failures == 1
            assert not known.unused_because
        assert not db.reads_from_standby()
    await db.rows("DROP TABLE brand_new")
    assert await db.value("SELECT count(*) FROM epoch WHERE server = 'x'") == 1
    await db.rows("DELETE FROM epoch WHERE server = 'x'")


async def test_without_the_setting_there_is_no_standby(database) -> None:
    async with standby_reads.following(Settings()):
        assert DB.standby is None
    assert standby.PATIENCE <= 2

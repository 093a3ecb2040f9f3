"""`leadwire doctor` tells whether work succeeds, where every server answers."""

import asyncio

import asyncpg

from leadwire.domain.search import reads
from leadwire.infrastructure import db
from leadwire.interfaces.cli.checks import _own
from leadwire_development.embedded import Services
from tests.delivery.interleaved import blocked
from tests.interfaces.cli.conftest import examined


async def test_who_makes_others_wait_is_named_and_no_change_gets_through(
    sound: dict[str, str], servers: Services
) -> None:
    holder, waiter = [await asyncpg.connect(servers.database_url) for _ in range(2)]
    async with holder.transaction():
        await holder.execute("LOCK TABLE webhook_endpoint IN ACCESS EXCLUSIVE MODE")
        waiting = asyncio.create_task(waiter.execute("SELECT count(*) FROM webhook_endpoint"))
        await blocked()
        while (await asyncio.to_thread(examined, **sound))[1]["locks"]["level"] == "ok":
            pass  # it tells of those who wait for a second
        code, found = await asyncio.to_thread(examined, **sound)
    await waiting
    assert code == 1
    assert found["locks"]["says"].startswith(f"pid {holder.get_server_pid()} (")
    assert found["locks"]["says"].endswith("LOCK TABLE webhook_endpoint IN ACCESS EXCLUSIVE MODE")
    assert f"pg_terminate_backend({holder.get_server_pid()})" in found["locks"]["fix"]
    assert found["changes"]["says"].startswith("one waits for longer than 2 s")
    _, found = await asyncio.to_thread(examined, **sound)
    assert {found[about]["level"] for about in ("locks", "changes")} == {"ok"}
    await holder.close()
    await waiter.close()


async def test_a_search_that_does_not_find_older_ones_yet_is_told(sound: dict[str, str], workspace: str) -> None:
    await db.rows("INSERT INTO search_due (workspace_id, subject) VALUES ($1, $1)", workspace)
    await db.rows("SELECT setval('search_due_number_seq', nextval('search_due_number_seq') + $1)", reads.BEHIND)
    _, found = await asyncio.to_thread(examined, **sound)
    assert (found["search"]["level"], found["search"]["says"]) == ("warning", "what is older is not found yet")
    await db.rows("DELETE FROM search_due")
    _, found = await asyncio.to_thread(examined, **sound)
    assert found["search"]["level"] == "ok"


async def test_a_check_that_fails_is_a_finding_and_hides_no_other() -> None:
    async def full() -> None:
        raise asyncpg.InternalServerError("could not write init file")

    async def wrong() -> None:
        raise KeyError("level")

    assert [one.says for one in await _own("changes", full())] == ["the database refuses: could not write init file"]
    assert [one.says for one in await _own("changes", wrong())] == ["it cannot be told: KeyError: 'level'"]

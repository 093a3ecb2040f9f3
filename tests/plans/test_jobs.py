"""What the queue of jobs touches does not grow with what waits, nor with what was done beside an old snapshot."""

import asyncpg
import pytest

from leadwire.infrastructure import clock, db
from leadwire.infrastructure.jobs import Offer, queue
from leadwire.infrastructure.jobs.queue import Ahead, Ended, Room
from tests.plans.explained import nodes, pages, plans_of, vacuum

ALWAYS = clock.from_unix(0)
_MANY = """
INSERT INTO job (kind, key, workspace_id, due_at, since)
SELECT 'test', lpad(n::text, 8, '0'), 'ws_a', now() - interval '1 hour', now() FROM generate_series(1, $1::int) n"""


async def claim(room: Room) -> tuple[list[str], Room]:
    claimed, marks = await queue.claim([room], "me")
    keys = [job.key for job in claimed.get("test", ())]
    return keys, Room("test", room.room, *marks["test"], 10)


@pytest.mark.parametrize("waiting", [2_000, 50_000])
async def test_a_claim_costs_the_same_however_much_waits(database, waiting):
    await db.rows(_MANY, waiting)
    await queue.add("test", "of another", "ws_b")
    await vacuum("job")
    claims = []

    async def work() -> None:
        claims.append(await claim(Room("test", 10, ALWAYS, "", 10)))

    (plan,) = await plans_of(work)
    assert "of another" in claims[0][0]
    assert {node["Node Type"] for node in nodes(plan)}.isdisjoint({"Seq Scan"})
    assert max(node["Actual Rows"] for node in nodes(plan)) <= 600
    assert pages([plan]) < 500


@pytest.mark.parametrize("waiting", [2_000, 50_000])
async def test_a_look_for_what_lies_too_far_ahead_costs_the_same_however_much_waits(database, waiting):
    await db.rows(_MANY, waiting)
    await db.rows("UPDATE job SET due_at = now() + interval '1 day'")
    await db.rows(_MANY.replace("'test'", "'other'"), waiting)
    await vacuum("job")
    (plan,) = await plans_of(lambda: queue.bring_forward([Ahead("test", None, 300.0), Ahead("other", 300.0, 300.0)]))
    assert {node["Node Type"] for node in nodes(plan)}.isdisjoint({"Seq Scan"})
    assert max(node["Actual Rows"] for node in nodes(plan)) <= 600
    assert pages([plan]) < 2_500  # each row that is looked at, once more by its place
    assert await db.value("SELECT count(*) FROM job WHERE due_at > now()") == waiting


async def test_an_old_snapshot_costs_little(database, servers):
    """Jobs that are done leave dead entries, which nobody may take away while the snapshot is held: 3,000 of them."""
    await vacuum("job")
    holder = await asyncpg.connect(servers.database_url)
    room, read = Room("test", 10, ALWAYS, "", 10), []
    async with holder.transaction(isolation="repeatable_read"):
        await holder.fetch("SELECT count(*) FROM job")
        for turn in range(300):
            await queue.add_all("test", [Offer(f"{turn}-{number}", "ws_a") for number in range(10)])

            async def work() -> list[str]:
                nonlocal room
                keys, room = await claim(room)
                await queue.finish("test", [Ended(key) for key in keys], "me", 3)
                return keys

            if turn in (20, 299):
                read.append(pages(await plans_of(work)))
            else:
                assert len(await work()) == 10
    await holder.close()
    assert read[1] < 2 * read[0], read

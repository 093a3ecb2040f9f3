"""`leadwire doctor` tells whether work succeeds, where every server answers."""

import asyncio
import inspect
import json
import socket

import asyncpg
import pytest
from redis.asyncio import Redis

from leadwire.domain.search import reads
from leadwire.infrastructure import db, settings
from leadwire.infrastructure.db.statements import sql
from leadwire.interfaces.cli.checks import _Examination, _own, work
from leadwire_development.embedded import Services
from tests.flows.commands import COMMAND, environment
from tests.interfaces.cli.conftest import examined


async def test_under_a_lock_that_never_ends_it_names_who_holds_it_and_what_waits(
    sound: dict[str, str], servers: Services
) -> None:
    holder = await asyncpg.connect(servers.database_url)
    async with holder.transaction():
        await holder.execute("LOCK TABLE webhook_endpoint IN ACCESS EXCLUSIVE MODE")
        for seconds in ("5", "20", "80"):  # on a busy machine others are not finished in a few, either
            code, found = await asyncio.to_thread(examined, "--within", seconds, **sound)
            unfinished = {about for about, one in found.items() if one["says"] == f"not finished in {seconds} s"}
            if unfinished == {"secret key fits", "quotas", "client certificates", "conditions"}:
                break
    assert unfinished == {"secret key fits", "quotas", "client certificates", "conditions"}
    assert {found[about]["fix"].partition(";")[0] for about in unfinished} == {"see `locks`"}
    assert code == 1
    assert found["locks"]["says"].startswith(f"pid {holder.get_server_pid()} (")
    assert found["locks"]["says"].endswith("LOCK TABLE webhook_endpoint IN ACCESS EXCLUSIVE MODE")
    assert f"pg_terminate_backend({holder.get_server_pid()})" in found["locks"]["fix"]
    assert found["changes"]["says"].startswith("one waits for longer than 2 s")
    _, found = await asyncio.to_thread(examined, **sound)
    assert {found[about]["level"] for about in ("locks", "changes")} == {"ok"}
    await holder.close()


async def test_what_the_page_system_shows_is_told_once_a_process_was_started(sound: dict[str, str]) -> None:
    """By a process of its own, which has loaded no more than `doctor` needs."""
    command = [*COMMAND, "doctor", "--json", "--within", "120"]

    async def told() -> dict[str, dict[str, str]]:
        doctor = await asyncio.create_subprocess_exec(*command, env=environment(**sound), stdout=-1)
        return {one["about"]: one for one in json.loads((await doctor.communicate())[0])["findings"]}

    found = await told()
    assert found.get("conditions", {}).get("says") == "nothing is firing", found
    await db.rows("INSERT INTO job (kind, workspace_id, key, due_at, since) VALUES ('ledger', '', '', now(), now())")
    found = await told()
    assert (found["NothingKnown"]["level"], found["NothingKnown"]["fix"].partition(";")[0]) == (
        "error",
        "leadwire relay",
    )
    assert found["ProcessMissing"]["fix"] == "leadwire deliver; what to do is told at /docs/process-missing"


async def test_a_redis_that_answers_late_is_not_away(redis: Redis) -> None:
    """So it may be on a busy machine, where this process itself is late."""
    await redis.client_pause(2500)
    assert [finding.says for finding in await work.firing(120.0)] == ["nothing is firing"]


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


@pytest.mark.parametrize(
    ("name", "limit", "check"),
    [
        ("_OLDEST", -1, work.age),
        ("_LEAST_FREE", 2.0, work.space),
        ("_MOST_DEAD", -1, work.dead_rows),
        ("_ARCHIVER", sql("SELECT '000000010000000000000001' AS last_failed_wal, 7 AS seconds"), work.archiver),
    ],
)
async def test_what_passes_its_limit_is_told_with_its_fix(database, monkeypatch, name, limit, check) -> None:
    monkeypatch.setattr(work, name, limit)
    found = await check()
    assert found.level in {"warning", "error"}
    assert found.fix


def test_servers_that_take_a_connection_and_say_nothing_are_findings_like_any_other(sound: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        nobody = {"DATABASE_URL": f"postgresql://x@{place}/x", "REDIS_URL": f"redis://{place}"}
        code, found = examined("--within", "3", **sound | nobody)
    assert code == 1
    assert {found[about]["says"] for about in ("PostgreSQL answers", "Redis answers")} == {"not finished in 3 s"}
    assert found["lease"]["level"] == "ok"


async def test_nothing_is_complained_of_where_a_check_never_had_its_turn() -> None:
    """Python would, on stderr, of what was never awaited."""
    examination = _Examination(settings.get(), 1)
    examination._turns, check = asyncio.Semaphore(0), work.age()
    (task,) = examination._in_turn({"age of transactions": check})
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert inspect.getcoroutinestate(check) == inspect.CORO_CLOSED

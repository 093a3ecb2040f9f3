"""What health probes report: alive or not, ready or what is missing; and that probes do not pile up."""

import asyncio
import re

import asyncpg
import httpx
import pytest

from leadwire.infrastructure import db
from leadwire.infrastructure.db import acting_as, engine
from leadwire.infrastructure.process import bind
from leadwire.infrastructure.telemetry import health
from leadwire.infrastructure.telemetry.health import Health
from tests import catalog


@pytest.fixture
async def probe(database):
    """Asks the telemetry port of a process that has this health."""
    stop, served = asyncio.Event(), []
    async with httpx.AsyncClient(trust_env=False, timeout=240) as client:

        async def ask(of: Health, path: str, host: str = "", names: tuple[str, ...] = ()):
            listening = bind("127.0.0.1", 0)
            served.append(asyncio.create_task(health.serve_health("serve", of, listening, stop, names)))
            headers = {"Host": host} if host else {}
            answer = await client.get(f"http://127.0.0.1:{listening.getsockname()[1]}{path}", headers=headers)
            return answer.status_code, answer.json() if "json" in answer.headers["content-type"] else answer.text

        yield ask
        stop.set()
        await asyncio.gather(*served)


async def test_alive_until_only_a_restart_would_help(probe):
    of = Health(needs_redis=True)
    assert await probe(of, "/health/live") == (200, {"status": "ok"})
    of.stuck = lambda: "none of 3 POSTs has ended"
    assert await probe(of, "/health/live") == (503, {"status": "none of 3 POSTs has ended"})


@pytest.mark.parametrize("path", ["/metrics", "/health/live", "/health/ready", "/"])
async def test_a_website_reads_nothing_by_a_name_of_its_own(probe, path):
    """Its name may have been pointed here, and its script would then be of the same origin as this port."""
    of = Health(needs_redis=False)
    for host in (
        "rebound.example:9464",
        "127.0.0.1.evil.example",
        "127.1",
        "localhost.evil.example",
        "[::1",
        "leadwire",
    ):
        status, said = await probe(of, path, host, ("prometheus-asks-by.example",))
        assert (status, said) == (421, "Ask by an address, or by one of LEADWIRE_TELEMETRY_NAMES.\n"), host


@pytest.mark.parametrize(
    "host",
    ["", "10.1.2.3:9464", "[::1]:9464", "[2001:db8::5]", "localhost:9464", "LOCALHOST", "Pod-1.leadwire.svc:9464"],
)
async def test_by_an_address_or_a_name_of_the_setting_it_answers(probe, host):
    status, said = await probe(Health(needs_redis=False), "/metrics", host, ("pod-1.leadwire.svc",))
    assert (status, "leadwire_build_info" in said) == (200, True)


async def test_a_process_that_stops_is_not_ready_and_alive(probe):
    of = Health(needs_redis=False)
    of.stopping = lambda: True
    status, said = await probe(of, "/health/ready")
    assert (status, said["checks"]["process"]) == (503, "stopping")
    assert (await probe(of, "/health/live"))[0] == 200


async def test_what_is_missing_is_named(probe):
    async def behind():
        return "2 migrations are missing"

    status, said = await probe(Health(needs_redis=False, checks={"migrations": behind}), "/health/ready")
    assert status == 503
    assert said == {
        "status": "unready",
        "checks": {"database": "ok", "migrations": "2 migrations are missing", "redis": "ok"},
    }


async def test_changes_that_wait_for_a_lock_are_said_and_reads_that_take_long_are_not(database, monkeypatch):
    monkeypatch.setitem(engine.LIMITS, "api", 0.5)
    of = Health(needs_redis=False)
    with acting_as("api"), pytest.raises(db.Canceled):
        await db.rows("SELECT pg_sleep(600)")
    assert (await of.report()).status == "ok"
    holder = await asyncpg.connect(db.DB.config["dsn"])
    async with holder.transaction():
        await holder.execute("LOCK TABLE webhook_endpoint IN ACCESS EXCLUSIVE MODE")
        with acting_as("api"), pytest.raises(db.OutcomeUnknown):
            await db.rows("UPDATE webhook_endpoint SET failures = 0")
    await holder.close()
    report = await of.report()
    assert (report.status, report.ready) == ("degraded", True)
    assert report.checks["writes"] == "refused by PostgreSQL: QueryCanceledError"
    assert catalog.value("leadwire_writes_refused", reason="QueryCanceledError") == 1


async def test_probes_of_something_that_hangs_do_not_pile_up(database, monkeypatch):
    monkeypatch.setattr(health, "_LIMIT", 0.01)
    asked, answered = [], asyncio.Event()

    async def hangs():
        asked.append(1)
        await answered.wait()

    of = Health(needs_redis=False, checks={"disk": hangs})
    for _ in range(5):
        assert (await of.report()).checks["disk"] == "no answer within 0.01 s"
    assert len(asked) == 1
    answered.set()
    monkeypatch.setattr(health, "_LIMIT", 60.0)
    assert (await of.report()).checks["disk"] == "ok"
    assert (await of.report()).status == "ok"
    assert len(asked) == 2


@pytest.mark.parametrize(("before", "after"), [("away", None), (None, "away")])
async def test_what_a_check_says_too_late_is_no_answer_to_a_later_probe(database, monkeypatch, before, after):
    """It may be hours old."""
    monkeypatch.setattr(health, "_LIMIT", 0.01)
    says, answered = [before, after], asyncio.Event()

    async def check():
        said = says.pop(0)
        await answered.wait()
        return said

    of = Health(needs_redis=False, checks={"disk": check})
    assert (await of.report()).checks["disk"] == "no answer within 0.01 s"
    answered.set()
    await asyncio.wait([*of._running.values()])
    monkeypatch.setattr(health, "_LIMIT", 60.0)
    assert (await of.report()).checks["disk"] == (after or "ok")


async def test_every_process_says_what_it_is(probe):
    status, text = await probe(Health(needs_redis=False), "/metrics")
    assert status == 200
    assert re.findall(r'^leadwire_build_info\{.*role="(\w+)".*\} 1\.0$', text, re.MULTILINE) == ["serve"]

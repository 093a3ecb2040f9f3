"""Every process tells of itself on its telemetry port, and two on one host tell of themselves only."""

import asyncio
import re
import shutil
import subprocess

import httpx
import pytest

from tests.catalog import known
from tests.flows.commands import free_port, refused, run
from tests.flows.telemetry import address, scraped
from tests.waiting import eventually

pytestmark = pytest.mark.flow


@pytest.fixture
async def ask():
    async with httpx.AsyncClient(trust_env=False, timeout=240) as client:
        yield client.get


async def test_each_process_serves_metrics_and_health(deployment, ask):
    started = [
        await deployment.start("serve", "--port", str(free_port())),
        await deployment.start("relay"),
        await deployment.start("deliver"),
        await deployment.start("background"),
    ]
    for process, role in zip(started, ("serve", "relay", "deliver", "background"), strict=True):
        samples = await scraped(ask, process)
        assert [dict(labels)["role"] for name, *labels in samples if name == "leadwire_build_info"] == [role]
        assert samples["leadwire_db_connections", ("state", "limit")] == 10
        assert (await ask(f"{address(process)}/health/live")).json() == {"status": "ok"}
        ready = await ask(f"{address(process)}/health/ready")
        alone = ("installation",) if role in ("relay", "deliver") else ()
        checks = ("database", "migrations", *alone, "redis")
        assert ready.json() == {"status": "ok", "checks": dict.fromkeys(checks, "ok")}
        assert (await ask(f"{address(process)}/else")).status_code == 404
        assert process.signal() == 0


async def test_what_was_delivered_is_counted_at_every_hop(deployment, ask):
    relay, worker = await deployment.start("relay"), await deployment.start("deliver")
    await deployment.write(50)
    await deployment.all_delivered(50)
    there = await scraped(ask, relay)
    assert there["leadwire_events_relayed_total",] == 50
    assert there["leadwire_hop_duration_seconds_count", ("hop", "relay")] == 50
    assert sum(there["leadwire_stream_entries_added_total", ("by", by)] for by in ("fan_out", "admit")) == 50

    here = await scraped(ask, worker)
    assert here["leadwire_delivery_attempts_total", ("outcome", "delivered")] == 50
    for hop in ("claim", "send", "record"):
        assert here["leadwire_hop_duration_seconds_count", ("hop", hop)] == 50
    assert here["leadwire_dispatch_delay_seconds_count",] == here["leadwire_end_to_end_seconds_count",] == 50
    assert 1 <= here["leadwire_transport_clients_built_total",] < 50  # the others found a connection

    async def seen():
        """The observer has looked since."""
        return (await scraped(ask, relay)).get(("leadwire_deliveries_queued",)) == 0

    await eventually(seen)


async def test_failures_are_counted_by_what_they_are(deployment, ask):
    deployment.receiver.answer = lambda received: 503 if received.attempt == 1 else 410
    await deployment.start("relay")
    worker = await deployment.start("deliver")
    await deployment.write(1)
    here = {}

    async def given_up():
        here.update(await scraped(ask, worker))
        return here["leadwire_dead_letters_made_total", ("reason", "gone")] == 1

    await eventually(given_up)
    assert here["leadwire_delivery_attempts_total", ("outcome", "http_5xx")] == 1
    assert here["leadwire_delivery_attempts_total", ("outcome", "gone")] == 1
    assert here["leadwire_deliveries_retried_total",] == 1
    assert here["leadwire_endpoints_disabled_total", ("reason", "gone")] == 1


async def test_two_workers_on_one_host_tell_of_themselves_only(deployment, ask):
    await deployment.start("relay")
    workers = [await deployment.start("deliver"), await deployment.start("deliver")]
    await deployment.write(300)
    await deployment.all_delivered(300)
    counts = [
        (await scraped(ask, worker))["leadwire_delivery_attempts_total", ("outcome", "delivered")] for worker in workers
    ]
    assert sum(counts) == 300


async def test_the_names_are_what_the_catalog_says_and_promtool_finds_nothing(deployment, ask):
    relay, background = await deployment.start("relay"), await deployment.start("background")
    serve = await deployment.start("serve", "--port", str(free_port()))
    await eventually(lambda: _ready_to_show(ask, relay))
    texts = [(await ask(f"{address(process)}/metrics")).text for process in (relay, serve, background)]
    exposed = {name for text in texts for name in re.findall(r"^# TYPE (leadwire_\w+)", text, re.MULTILINE)}
    assert exposed == set(known)
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed (Debian: prometheus)")
    for text in texts:
        checked = await asyncio.to_thread(
            subprocess.run, ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False
        )
        said = [line for line in checked.stderr.splitlines() if "leadwire" in line]
        assert (checked.returncode, said) == (0, []), checked.stderr


async def _ready_to_show(ask, relay):
    return ("leadwire_redis_up",) in await scraped(ask, relay)


async def test_a_port_that_is_taken_is_told_in_one_line(deployment, ask):
    relay = await deployment.start("relay")
    deployment.settings = deployment.settings | {"TELEMETRY_PORT": address(relay).rpartition(":")[2]}
    result = await asyncio.to_thread(run, "relay", **deployment.settings)
    assert "cannot listen on 127.0.0.1:" in refused(result)


async def test_without_the_last_migration_nothing_is_ready_and_says_what_to_do(deployment, ask):
    relay = await deployment.start("relay")
    name = await deployment.sql.fetchval("SELECT max(name) FROM migration WHERE app_name = 'leadwire'")
    row = await deployment.sql.fetchrow("DELETE FROM migration WHERE name = $1 RETURNING *", name)
    try:
        ready = await ask(f"{address(relay)}/health/ready")
        assert ready.status_code == 503
        assert ready.json()["checks"]["migrations"] == "1 migrations are missing: run `leadwire migrate`"
        assert (await ask(f"{address(relay)}/health/live")).status_code == 200
    finally:
        await deployment.sql.execute(
            "INSERT INTO migration (name, app_name, ran_on) VALUES ($1, $2, $3)",
            *(row[column] for column in ("name", "app_name", "ran_on")),
        )

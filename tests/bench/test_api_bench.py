"""What the bench of the API measures is what it says: pgbench runs our statements, each variant is a server."""

import asyncio
import subprocess
import sys

import pytest
from ops.bench.api import data as bench_data
from ops.bench.api import limit, statements
from ops.bench.api.measure import KINDS
from ops.bench.api.variants import VARIANTS

from leadwire.infrastructure import db


@pytest.mark.parametrize("kind", KINDS)
async def test_pgbench_does_what_a_request_does(kind, servers, database):
    data = await bench_data.fill(100)
    script = await statements.script(kind, data)
    before = await written()
    program, why_not = limit.pgbench()
    assert program, why_not
    script = script._replace(settings={})  # this session's search path is for a clock
    assert await asyncio.to_thread(limit.run, program, servers.database_url, script, ["-c", "1", "-t", "20"]) > 0
    assert await written() - before == (20 if kind == "patch" else 0)


async def written() -> int:
    """Leads that were changed and events that tell of it must agree."""
    events = await db.value("SELECT count(*) FROM event WHERE kind = 'lead.updated'")
    assert await db.value("SELECT sum(version - 1) FROM lead") == events
    return events


def test_servers_without_a_piece_can_be_made():
    """In a process of its own: what is taken out stays out."""
    make = """
from ops.bench.api.variants import VARIANTS
from leadwire import app
for variant in VARIANTS.values():
    variant.take_out()
    app.create_app()"""
    subprocess.run([sys.executable, "-c", make], check=True, timeout=840)


def test_every_variant_is_for_kinds_that_exist():
    assert {kind for variant in VARIANTS.values() for kind in variant.kinds} <= KINDS.keys()

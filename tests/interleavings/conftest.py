"""Where operations meet; and what was tried, after `pytest tests/interleavings`."""

from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import chain

import asyncpg
import pytest

from leadwire.infrastructure import db, ids
from tests import rows
from tests.delivery.elsewhere import moved_to
from tests.interleavings import kept, sessions
from tests.interleavings.matrix import Matrix


def pytest_terminal_summary(terminalreporter) -> None:
    """A line for each start: how many pairs, orders, different ends and violations."""
    reports = chain.from_iterable(terminalreporter.stats.values())
    calls = [one for one in reports if getattr(one, "when", None) == "call"]
    rows = [value for one in calls for name, value in one.user_properties if name == "interleavings"]
    if rows:
        terminalreporter.section("what was tried")
        for start, *counts in [("", "pairs", "orders", "ends", "violations"), *sorted(rows)]:
            terminalreporter.write_line(f"{start:40}" + "".join(f"{count:>12}" for count in counts))
        counts = [sum(column) for column in list(zip(*rows, strict=True))[1:]]
        terminalreporter.write_line(f"{'together':40}" + "".join(f"{count:>12}" for count in counts))


@pytest.fixture
async def planned_once(monkeypatch, database, servers) -> AsyncIterator[None]:
    """Connections that wait for their session's turn, and plan each statement once, as in production."""
    sessions.install(monkeypatch)
    url = f"{servers.database_url}&search_path=public,test_clock,pg_catalog&plan_cache_mode=force_generic_plan"
    async with moved_to(url, restarted=False, connections=10):
        yield


@pytest.fixture
async def meeting(planned_once, wire, receiver) -> Callable[[str], Awaitable[Matrix]]:
    """Make the start with a name."""

    async def begun(name: str) -> Matrix:
        matrix = Matrix(name, wire, receiver.url)
        await matrix.begin()
        return matrix

    return begun


@pytest.fixture
async def workspace_with_all(servers, planned_once):
    """A workspace with a row in each table."""
    workspace, sql = ids.new("evt"), await asyncpg.connect(servers.database_url)
    columns = [column for column in await sql.fetch(rows.COLUMNS) if column["name"] != "epoch"]  # the installation's
    await rows.insert(sql, columns, workspace)
    await sql.close()
    await kept.keep()
    yield workspace, dict.fromkeys(column["name"] for column in columns)
    await db.rows("SELECT test_clock.empty_tables()")  # not every row of these could have been made by us

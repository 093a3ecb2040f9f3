"""Every change of a table expands and contracts: a migration runs while the processes of the version before still do.

A database of an earlier commit with a row in every table is migrated, still takes the rows of the earlier code
(without the columns that are gone), and today's table classes read both.
"""

import asyncio
import re
import shutil
import subprocess
from pathlib import Path

import asyncpg
import pytest

from leadwire.delivery.monitoring.full_check import LedgerCheck
from leadwire.delivery.table import EveryDelivery
from leadwire.domain.search.table import SearchDue
from leadwire.infrastructure import db
from leadwire.infrastructure.db.migrations import files
from leadwire.processes.piccolo_app import TABLES
from tests.flows.commands import COMMAND, environment, settings_on
from tests.rows import COLUMNS, insert

ROOT = Path(__file__).parents[2]
_PRESENT = "SELECT table_name, quote_ident(column_name) FROM information_schema.columns WHERE table_schema = 'public'"


def git(*arguments: str) -> bytes:
    if (ROOT / ".git").exists() and shutil.which("git"):
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)
        if done.returncode == 0:
            return done.stdout
    pytest.skip("no git history with an earlier commit is here")


async def migrate(checkout: Path, settings: dict[str, str]) -> None:
    env = environment(**settings) | {"PYTHONPATH": str(checkout / "src")}
    await asyncio.to_thread(subprocess.run, [*COMMAND, "migrate"], cwd=checkout, env=env, check=True)


FILLED = {"bot_count", "lead_by_update", "login"}
"""Tables that are made with what is known already, or filled by triggers of others."""


@pytest.mark.flow
@pytest.mark.parametrize("name", ["the_commit_before", "before_the_last_migration"])  # a push has several commits
async def test_a_database_of_an_earlier_commit_is_upgraded_with_its_rows(name, servers, connected, tmp_path):
    changed = () if name == "the_commit_before" else ("--", "migrations")
    commit = git("log", "-1", "--format=%H~", *changed).decode().strip()
    archive = git("archive", commit, "src", "migrations", "piccolo_conf.py")
    await asyncio.to_thread(subprocess.run, ["tar", "-x", "-C", tmp_path], input=archive, check=True)
    texts = [path.read_text() for path in (tmp_path / "migrations").glob("*.py")]
    if not {re.search(r'^ID = "(.+)"$', text, re.MULTILINE)[1] for text in texts} <= files().keys():
        pytest.skip("a migration of that commit is no more: it was folded into others before the first release")
    settings = settings_on(servers, DATABASE_URL=servers.database_url.replace("/leadwire?", f"/{name}?"))
    await db.rows(f"CREATE DATABASE {name}")
    await migrate(tmp_path, settings)
    sql = await asyncpg.connect(settings["DATABASE_URL"])
    columns = await sql.fetch(COLUMNS)
    await insert(sql, columns, "earlier")
    await migrate(ROOT, settings)
    present = {tuple(row) for row in await sql.fetch(_PRESENT)}
    await insert(sql, [one for one in columns if (one["name"], one["column"]) in present], "later")
    made = {one["name"] for one in columns}
    for table in set(TABLES) - {EveryDelivery, SearchDue, LedgerCheck}:  # a view, what triggers write, one row at most
        rows = await sql.fetch(str(table.select()))
        name = table._meta.tablename
        assert len(rows) == 2 * (name in made) or (name in FILLED and name not in made), table
    assert len(await sql.fetch(str(EveryDelivery.select()))) == 2 * len({"delivery", "delivery_result"} & made)
    await sql.close()

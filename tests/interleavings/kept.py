"""Every row as it is now, to be restored many times: faster than to make the same again."""

from leadwire.infrastructure import db, loop

_TABLES = """
SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
    AND NOT relispartition AND relname <> 'migration' ORDER BY 1"""
_RESTORE = """
CREATE OR REPLACE FUNCTION test_clock.restore() RETURNS void LANGUAGE plpgsql
SET session_replication_role = replica AS $$ BEGIN {} END $$"""


async def keep() -> None:
    """Keep what is in the tables for `restore`, instead of what was kept before."""
    statements = []
    for (table,) in await db.rows(_TABLES):
        statements.append(f"DELETE FROM public.{table};")
        await db.rows(f"DROP TABLE IF EXISTS test_clock.kept_{table}")
        if await db.value(f"SELECT EXISTS (SELECT 1 FROM public.{table})"):
            await db.rows(f"CREATE TABLE test_clock.kept_{table} AS SELECT * FROM public.{table}")
            statements.append(
                f"INSERT INTO public.{table} OVERRIDING SYSTEM VALUE SELECT * FROM test_clock.kept_{table};"
            )
    statements.append("UPDATE test_clock.moved SET by = '0' WHERE by <> '0';")
    await db.rows(_RESTORE.format(" ".join(statements)))


async def restore() -> None:
    """Let the tables and the clock be as they were."""
    await db.rows("SELECT test_clock.restore()")
    end_rests()  # the same ids are met again, within the seconds that one rests


def end_rests() -> None:
    """Let nothing rest in this process, whose clock no test moves."""
    for rests in loop._rests.values():
        rests.clear()

"""How PostgreSQL runs the statements that are really sent, under the plans that the connections of processes keep.

Pages vary with what other tests did before: a connection that is new reads the catalog, a row that nobody has seen yet
is looked up in the heap, and deleted rows stay until a VACUUM. So tables are vacuumed until each page is marked as
visible to all, a statement is explained twice and its second plan counts, and the bounds are ones that a defect exceeds
by far.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import count
from typing import Any

from leadwire.infrastructure import db
from tests import statements
from tests.waiting import eventually

Node = dict[str, Any]
_VISIBLE = """
SELECT bool_and(relallvisible = relpages) FROM pg_class LEFT JOIN pg_inherits ON inhrelid = oid
WHERE $1::text::regclass IN (oid, inhparent) AND relkind = 'r'"""
_numbers = count()


async def vacuum(*tables: str) -> None:
    """Analyze tables, and leave in them no row of the past and no page that is not marked as visible to all."""
    async with db.transaction():  # VACUUM marks no row before its commit is on disk
        await db.rows("SET LOCAL synchronous_commit = on")
        await db.rows("SELECT pg_logical_emit_message(true, '', '')")
    for table in tables:
        await eventually(partial(_vacuumed, table))


async def _vacuumed(table: str) -> bool:
    """Not while an autovacuum of any table has an older snapshot."""
    await db.rows(f"VACUUM (ANALYZE, INDEX_CLEANUP ON) {table}")
    return bool(await db.value(_VISIBLE, table))


async def explained(read: Callable[[], Awaitable[Any]]) -> list[Node]:
    """The nodes of the plan of the one statement of `read`, with what they did (EXPLAIN ANALYZE)."""
    with statements.sent() as sent:
        await read()
    ((sql, args),) = sent
    async with db.transaction():
        assert await db.value("SHOW plan_cache_mode") == "force_generic_plan"
        return list(nodes(await _plan(sql, args)))


async def plans_of(work: Callable[[], Awaitable[Any]]) -> list[Node]:
    """The plans of all statements of `work` on connections like those of relays and workers, with what they did.

    `work` is done: what EXPLAIN ANALYZE does before each of its statements is rolled back.
    """
    plans: list[Node] = []
    with statements.before_each(partial(_rolled_back, plans)):
        await work()
    return plans


async def _rolled_back(plans: list[Node], sql: str, args: Sequence[Any]) -> None:
    async with db.transaction():
        for _ in range(2):  # the first reads the catalog, and marks what it has looked at
            roll_back = await db.savepoint()
            for name, value in (db._PROCESS | db._INDEXES_ONLY).items():
                await db.rows(f"SET LOCAL {name} = '{value}'")
            plan = await _plan(sql, args)
            await roll_back()
        plans.append(plan)


async def _plan(sql: str, args: Sequence[Any]) -> Node:
    name = f"explained_{next(_numbers)}"  # one that fails stays prepared: its transaction takes no DEALLOCATE
    await db.rows(f"PREPARE {name} AS {sql}")
    # EXECUTE, for that is what meets the generic plan; EXPLAIN of a text would plan for these very values.
    values = f"({', '.join(map(_literal, args))})" if args else ""
    plan = await db.value(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE {name} {values}")
    await db.rows(f"DEALLOCATE {name}")
    return json.loads(bytes(plan))[0]["Plan"]


def pages(plans: Iterable[Node]) -> int:
    """Of indexes and tables, how many were read and written."""
    return sum(node["Shared Hit Blocks"] + node["Shared Read Blocks"] for plan in plans for node in _ends(plan))


def _ends(plan: Node) -> Iterator[Node]:
    """The plan, and each change of it that nothing reads: that is run after the plan, which does not count it."""
    read = {None, *(f"CTE {node.get('CTE Name')}" for node in nodes(plan))}
    yield plan
    for node in nodes(plan):
        if node["Node Type"] == "ModifyTable" and node.get("Subplan Name") not in read:
            yield node


def nodes(node: Node) -> Iterator[Node]:
    """A plan's node and all below it."""
    yield node
    for inner in node.get("Plans", ()):
        yield from nodes(inner)


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list):
        return _quoted(f"{{{','.join('NULL' if one is None else _member(one) for one in value)}}}")
    return _quoted(_text(value))


def _member(value: Any) -> str:
    return '"' + _text(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    return value.isoformat() if isinstance(value, datetime) else str(value)

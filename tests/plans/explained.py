"""How PostgreSQL runs the statements that are really sent, under the plans that the connections of processes keep."""

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import count
from typing import Any

from leadwire.infrastructure import db
from tests import statements

Node = dict[str, Any]
_numbers = count()


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
        roll_back = await db.savepoint()
        for name, value in (db._PROCESS | db._INDEXES_ONLY).items():
            await db.rows(f"SET LOCAL {name} = '{value}'")
        plans.append(await _plan(sql, args))
        await roll_back()


async def _plan(sql: str, args: Sequence[Any]) -> Node:
    name = f"explained_{next(_numbers)}"  # one that fails stays prepared: its transaction takes no DEALLOCATE
    await db.rows(f"PREPARE {name} AS {sql}")
    # EXECUTE, for that is what meets the generic plan; EXPLAIN of a text would plan for these very values.
    values = f"({', '.join(map(_literal, args))})" if args else ""
    plan = await db.value(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE {name} {values}")
    await db.rows(f"DEALLOCATE {name}")
    return json.loads(bytes(plan))[0]["Plan"]


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

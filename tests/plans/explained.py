"""How PostgreSQL runs the statements that are really sent, under the plans that the connections of processes keep."""

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from leadwire.infrastructure import db

Node = dict[str, Any]


async def explained(read: Callable[[], Awaitable[Any]], monkeypatch) -> list[Node]:
    """The nodes of the plan of the one statement of `read`, with what they did (EXPLAIN ANALYZE)."""
    sent: list[tuple[str, Sequence[Any]]] = []
    fetch = db.DB.fetch

    async def noted(sql: str, args: Sequence[Any]) -> list[db.Row]:
        sent.append((sql, args))
        return await fetch(sql, args)

    with monkeypatch.context() as patched:
        patched.setattr(db.DB, "fetch", noted)
        await read()
    ((sql, args),) = sent
    async with db.transaction():
        assert await db.value("SHOW plan_cache_mode") == "force_generic_plan"
        return list(nodes(await _plan(sql, args)))


async def plans_of(work: Callable[[], Awaitable[Any]], monkeypatch) -> list[Node]:
    """The plans of all statements of `work` on connections like those of relays and workers, with what they did.

    `work` is done: what EXPLAIN ANALYZE does before each of its statements is rolled back.
    """
    fetch, plans = db.DB.fetch, []

    async def noted(sql: str, args: Sequence[Any]) -> list[db.Row]:
        with monkeypatch.context() as unpatched:
            unpatched.setattr(db.DB, "fetch", fetch)
            async with db.transaction():
                roll_back = await db.savepoint()
                for name, value in (db._PROCESS | db._INDEXES_ONLY).items():
                    await db.rows(f"SET LOCAL {name} = '{value}'")
                plans.append(await _plan(sql, args))
                await roll_back()
        return await fetch(sql, args)

    with monkeypatch.context() as patched:
        patched.setattr(db.DB, "fetch", noted)
        await work()
    return plans


async def _plan(sql: str, args: Sequence[Any]) -> Node:
    await db.rows(f"PREPARE asked AS {sql}")
    # EXECUTE, for that is what meets the generic plan; EXPLAIN of a text would plan for these very values.
    values = f"({', '.join(map(_literal, args))})" if args else ""
    plan = await db.value(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE asked {values}")
    await db.rows("DEALLOCATE asked")
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

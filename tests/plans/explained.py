"""How PostgreSQL runs the statement that a read really sends, under the plan that the API's connections keep for it."""

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
        await db.rows(f"PREPARE asked AS {sql}")
        # EXECUTE, for that is what meets the generic plan; EXPLAIN of a text would plan for these very values.
        values = ", ".join(_literal(value) for value in args)
        plan = await db.value(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE asked ({values})")
        await db.rows("DEALLOCATE asked")
    return list(nodes(json.loads(bytes(plan))[0]["Plan"]))


def nodes(node: Node) -> Iterator[Node]:
    """A plan's node and all below it."""
    yield node
    for inner in node.get("Plans", ()):
        yield from nodes(inner)


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return f"ARRAY[{', '.join(map(_literal, value))}]"
    text = value.isoformat() if isinstance(value, datetime) else value
    assert "'" not in text
    return f"'{text}'"

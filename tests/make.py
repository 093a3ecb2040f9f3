"""Things for tests to work on, made by the same operations as everything else."""

import json
from typing import Any

from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.schema import Origin
from leadwire.domain.leads.schema import Lead, LeadPatch, Source
from leadwire.infrastructure import db, ids


async def conversation(workspace: str, bot: str, **origin: Any) -> str:
    """An open conversation in which the visitor has said hello."""
    made = await conversations.start(workspace, bot, Origin(source=Source("/pricing", "spring", None), **origin))
    await conversations.add_message(workspace, made, "user", "Hello")
    return made


async def lead(workspace: str, bot: str, **found: Any) -> Lead:
    """A lead, captured in a conversation of its own."""
    made = await conversation(workspace, bot)
    return await conversations.capture_lead(
        workspace, made, LeadPatch(**{"email": "ada@example.com", "name": "Ada", **found})
    )


async def somebody(workspace: str, bot: str) -> Lead:
    """A lead that nobody else is."""
    return await lead(workspace, bot, email=f"{ids.new('x')}@example.com")


async def user(workspace: str, role: str = "agent") -> str:
    """A person of the web area, who cannot sign in. Answers their id."""
    made = ids.new("user")
    await db.rows(
        "INSERT INTO user_account (id, workspace_id, email, role, created_at) VALUES ($1, $2, $3, $4, now())",
        made, workspace, f"{made}@example.org", role,
    )  # fmt: skip
    return made


async def domain(workspace: str, name: str = "example.org", *, proven: bool = False) -> str:
    """A domain that a workspace may rely on: proven, or taken over without a proof. Answers its id."""
    made = ids.new("dom")
    await db.rows(
        "INSERT INTO email_domain (id, workspace_id, domain, created_at, check_at, proven_at, taken_over_until)"
        " VALUES ($1, $2, $3, now(), now() + interval '1 day', CASE WHEN $4 THEN now() END,"
        " CASE WHEN NOT $4 THEN now() + interval '1 day' END) ON CONFLICT (workspace_id, domain) DO NOTHING",
        made, workspace, name, proven,
    )  # fmt: skip
    return made


async def emitted(*, forget: bool = False) -> list[dict[str, Any]]:
    """Every event in the outbox, oldest first, decoded; `forget` then empties it."""
    bodies = await db.rows("SELECT body FROM event ORDER BY id")
    if forget:
        await db.rows("DELETE FROM event")
    return [json.loads(row["body"]) if row["body"] else {} for row in bodies]


async def kinds() -> list[str]:
    """The kinds of the events in the outbox, oldest first."""
    return [row["kind"] for row in await db.rows("SELECT kind FROM event ORDER BY id")]


async def ended(event_id: str, endpoint_id: str, state: str, **columns: Any) -> None:
    """A delivery that has ended, after an attempt that nobody wrote down; it may have waited."""
    await db.rows("DELETE FROM delivery WHERE event_id = $1 AND endpoint_id = $2", event_id, endpoint_id)
    values = {"attempts": 1, "generation": 1, "test": False} | columns
    places = ", ".join(f"${place}" for place in range(4, 4 + len(values)))
    await db.rows(
        f"""INSERT INTO delivery_result (event_id, endpoint_id, workspace_id, state, created_at, finished_at,
                {", ".join(values)})
            SELECT id, $2, workspace_id, $3, now(), now(), {places} FROM event WHERE id = $1""",
        event_id, endpoint_id, state, *values.values(),
    )  # fmt: skip


async def stored() -> dict[str, list[str]]:
    """Every row of every table, as text."""
    tables = await db.rows(
        """SELECT oid::regclass::text AS name FROM pg_class
           WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = 'public'::regnamespace ORDER BY 1"""
    )
    found: dict[str, list[str]] = {name: [] for (name,) in tables}
    every = " UNION ALL ".join(f"SELECT '{name}', t::text FROM {name} t" for name in found)
    for name, row in await db.rows(f"{every} ORDER BY 1, 2"):
        found[name].append(row)
    return found

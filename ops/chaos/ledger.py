"""Reads the database after a run: its events, its deliveries, and what is left to deliver."""

from collections.abc import Mapping

import msgspec

from leadwire.infrastructure import db
from ops.chaos import payload
from ops.chaos.load import KINDS
from ops.chaos.records import Attempted, Ended, Recorded


async def unfinished(*workspaces: str) -> int:
    """Return how many events are not relayed, and how many deliveries and redrives are not finished."""
    return int(
        await db.value(
            """SELECT (SELECT count(*) FROM outbox WHERE workspace_id = ANY($1))
                + (SELECT count(*) FROM delivery WHERE workspace_id = ANY($1))
                + (SELECT count(*) FROM redrive_job WHERE workspace_id = ANY($1) AND state = 'running')""",
            list(workspaces),
        )
    )


async def events(workspace: str) -> list[Recorded]:
    """Every event of the kinds the harness causes, but of people who were erased."""
    found = await db.rows(
        "SELECT id, body, recorded_at FROM event WHERE workspace_id = $1 AND kind = ANY($2) AND body <> '' ORDER BY id",
        workspace,
        list(KINDS),
    )
    return [Recorded(row["id"], *payload.read(row["body"]), row["recorded_at"].timestamp()) for row in found]


async def deliveries(workspace: str) -> dict[str, int]:
    """How many deliveries are in each state."""
    found = await db.rows("SELECT state, count(*) FROM every_delivery WHERE workspace_id = $1 GROUP BY 1", workspace)
    return {row["state"]: row["count"] for row in found}


async def attempts(names: Mapping[str, str]) -> list[Attempted]:
    """Every attempt to send to these endpoints. `names`: theirs, by their ids."""
    found = await db.rows(
        """SELECT endpoint_id, event_id, generation, number, counted, extract(epoch FROM started_at)::float8 AS at,
            duration_ms, outcome FROM attempt WHERE endpoint_id = ANY($1)""",
        list(names),
    )
    return [
        Attempted(names[endpoint], event, generation, number, counted, at, took / 1000, outcome)
        for endpoint, event, generation, number, counted, at, took, outcome in found
    ]


async def ends(names: Mapping[str, str]) -> list[Ended]:
    """How every delivery to these endpoints has ended."""
    found = await db.rows(
        """SELECT endpoint_id, event_id, state, generation, extract(epoch FROM finished_at)::float8, sequence
        FROM delivery_result WHERE endpoint_id = ANY($1)""",
        list(names),
    )
    return [Ended(names[endpoint], *others) for endpoint, *others in found]


async def states(workspace: str) -> dict[str, int | None]:
    """Return the present state of the changed rows: the number in each lead, and -1 for each ended conversation."""
    leads = await db.rows("SELECT id, custom_fields FROM lead WHERE workspace_id = $1", workspace)
    ended = await db.rows("SELECT id FROM conversation WHERE workspace_id = $1 AND status = 'ended'", workspace)
    fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
    numbers = {row["id"]: payload.number_in(fields(bytes(row["custom_fields"]))) for row in leads}
    return {**numbers, **{row["id"]: -1 for row in ended}}

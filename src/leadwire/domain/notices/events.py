"""What endpoints are told of others, where they name these kinds: the same as people, as often, by the same rows."""

from collections.abc import Sequence
from typing import Any, Final

from leadwire.delivery import outbox
from leadwire.delivery.envelope import NamedKind
from leadwire.delivery.outbox import Event
from leadwire.domain.notices import schema
from leadwire.domain.notices.texts import host
from leadwire.infrastructure import clock, db

_MOST: Final = 100  # endpoints with dead letters that one event lists
_KINDS: Final[dict[str, NamedKind]] = {
    "failing": "endpoint.failing", "ending": "endpoint.failing", "disabled": "endpoint.disabled",
    "working": "endpoint.recovered",
}  # fmt: skip


async def record(workspace: str, kind: schema.Kind, rows: Sequence[db.Row]) -> None:
    """Note in the open transaction what `reads.news` has found."""
    now = clock.now()
    if kind == "endpoints":
        events = [
            Event(workspace=workspace, kind=_KINDS[row["state"]], at=now, data=_endpoint(row), subject=row["id"])
            for row in rows
        ]
    else:
        dead = [row for row in rows if kind == "dead_letters" and row["news"]]
        listed = [schema.DeadLetters(row["id"], host(row["url"]), row["news"]) for row in dead[:_MOST]]
        data = schema.DeliveryDead(sum(row["news"] for row in dead), listed)
        events = [Event(workspace=workspace, kind="delivery.dead", at=now, data=data)] if dead else []
    if events:
        await outbox.record(events)


def _endpoint(row: db.Row) -> schema.EndpointRecovered:
    about: dict[str, Any] = {"endpoint_id": row["id"], "host": host(row["url"])}
    since = clock.iso(row["since"]) if row["since"] else None
    if row["state"] == "working":
        return schema.EndpointRecovered(**about)
    if row["state"] == "disabled":
        return schema.EndpointDisabled(**about, since=since, reason=row["reason"])
    return schema.EndpointFailing(**about, since=str(since), disabled_at=clock.iso(row["until"]))

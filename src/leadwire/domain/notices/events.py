"""What endpoints are told of others, where they name these kinds: the same as people, as often, by the same rows."""

from collections.abc import Sequence
from typing import Any, Final

from leadwire.delivery import outbox
from leadwire.delivery.envelope import NamedKind
from leadwire.delivery.outbox import Event
from leadwire.domain.notices.schema import (
    DeadLetters,
    DeliveryDead,
    EndpointDisabled,
    EndpointFailing,
    EndpointRecovered,
    Kind,
)
from leadwire.domain.notices.texts import host
from leadwire.infrastructure import clock, db

_MOST: Final = 100  # endpoints with dead letters that one event lists
_KINDS: Final[dict[str, NamedKind]] = {
    "failing": "endpoint.failing", "ending": "endpoint.failing", "disabled": "endpoint.disabled",
    "working": "endpoint.recovered",
}  # fmt: skip


async def record(workspace: str, kind: Kind, found: Sequence[db.Row]) -> None:
    """Note in the open transaction what `reads.news` has found."""
    now = clock.now()
    if kind == "endpoints":
        events = [
            Event(workspace=workspace, kind=_KINDS[one["state"]], at=now, data=_endpoint(one), subject=one["id"])
            for one in found
        ]
    else:
        dead = [one for one in found if kind == "dead_letters" and one["news"]]
        listed = [DeadLetters(one["id"], host(one["url"]), one["news"]) for one in dead[:_MOST]]
        data = DeliveryDead(sum(one["news"] for one in dead), listed)
        events = [Event(workspace=workspace, kind="delivery.dead", at=now, data=data)] if dead else []
    if events:
        await outbox.record(events)


def _endpoint(one: db.Row) -> EndpointRecovered:
    about: dict[str, Any] = {"endpoint_id": one["id"], "host": host(one["url"])}
    since = clock.iso(one["since"]) if one["since"] else None
    if one["state"] == "working":
        return EndpointRecovered(**about)
    if one["state"] == "disabled":
        return EndpointDisabled(**about, since=since, reason=one["reason"])
    return EndpointFailing(**about, since=str(since), disabled_at=clock.iso(one["until"]))

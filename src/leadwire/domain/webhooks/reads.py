"""Looking endpoints and deliveries up. A workspace of None is an operator, who sees all."""

from collections.abc import Sequence
from datetime import UTC
from typing import Final

import msgspec

from leadwire.delivery.states import ExactState
from leadwire.domain.webhooks import custom_headers
from leadwire.domain.webhooks.filters import Filter
from leadwire.domain.webhooks.schema import (
    PUBLISHED_AFTER,
    SOON,
    Attempt,
    Delivery,
    DeliveryDetail,
    Endpoint,
    PublicKey,
)
from leadwire.infrastructure import clock, db, ids, settings, telemetry
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import Invalid, NotFound, OperatorError

MOST_NUMBERS: Final = 1000  # at once
UNREADABLE: Final = "(unreadable)"
"""In place of the names of headers that no key of ours opens: the endpoint, and all others, are shown nevertheless."""
_ENDPOINTS, _ENDPOINT, _ATTEMPTS, _TESTED, _NUMBERED, _CERTIFICATES_ENDING, _PUBLIC_KEYS = named(
    __file__, "endpoints endpoint attempts tested numbered certificates_ending public_keys"
)
_STATES, _DEAD_LETTERS, _COUNT_DEAD_LETTERS, _DELIVERIES = named(
    __file__, "states dead_letters count_dead_letters deliveries"
)


async def endpoints(workspace: str | None) -> list[Endpoint]:
    """Return every endpoint, oldest first."""
    return [_endpoint(row) for row in await _ENDPOINTS.rows(workspace=workspace)]


async def certificates_ending() -> list[db.Row]:
    """Return every endpoint whose client certificate has to be replaced: id, subject and end."""
    return await _CERTIFICATES_ENDING.rows(before=clock.now() + SOON)


async def endpoint(workspace: str | None, endpoint_id: str) -> Endpoint:
    """Return one endpoint. Raise NotFound."""
    missing = NotFound(f"There is no endpoint {endpoint_id}.")
    return _endpoint(await _ENDPOINT.one(missing, id=endpoint_id, workspace=workspace))


def egress_addresses() -> list[str]:
    """Return the networks that deliveries come from, a single address without its length. Raise NotFound where the
    operator has named none.
    """
    if not (networks := settings.get().egress_addresses):
        raise NotFound("Whoever runs this instance has not said which addresses it sends from.")
    return [str(network.network_address) if network.num_addresses == 1 else str(network) for network in networks]


async def public_keys(endpoint_id: str) -> tuple[list[PublicKey], str | None]:
    """Return what anybody may verify an endpoint's deliveries with, and the address of the installation that has it
    now, if it has moved. Raise NotFound, also where that address is not known.
    """
    missing = NotFound("There is no endpoint of this id with public keys.")
    if not ids.is_id("we", endpoint_id):
        raise missing
    text, moved_to = await _PUBLIC_KEYS.one(missing, endpoint_id=endpoint_id)
    if not (keys := _published(text)) or moved_to == "":
        raise missing
    return keys, moved_to


async def dead_letters(
    workspace: str | None, endpoint_id: str | None = None, event_id: str | None = None, limit: int = 100
) -> tuple[list[Delivery], int]:
    """Return dead letters, newest first, and how many there are."""
    which = {"workspace": workspace, "endpoint_id": endpoint_id, "event_id": event_id}
    total = await _COUNT_DEAD_LETTERS.value(**which)
    return [Delivery(*clock.texts(row)) for row in await _DEAD_LETTERS.rows(**which, limit=limit)], total


async def deliveries_of(
    workspace: str | None, event_id: str, endpoint_id: str | None = None, *, awaited: bool = False
) -> list[DeliveryDetail]:
    """Return all about the deliveries of one event. Raise NotFound when there are none, unless it is a test of the
    endpoint that is `awaited`: still to be relayed.
    """
    keys = {"workspace": workspace, "event_id": event_id, "endpoint_id": endpoint_id}
    rows = await _DELIVERIES.rows(**keys)
    if not rows and not (awaited and await _TESTED.row(**keys)):
        raise NotFound(f"There is no delivery of {event_id}.")
    return [await _with_history(row) for row in rows]


async def events_of_numbers(workspace: str | None, endpoint_id: str, first: int, last: int) -> list[str]:
    """Return the events that an endpoint was or will be sent with these numbers. Raise NotFound, Invalid."""
    if not 0 <= last - first < MOST_NUMBERS:
        raise Invalid(f"Numbers are from N to M, at most {MOST_NUMBERS} at once.")
    rows = await _NUMBERED.rows(endpoint_id=(await endpoint(workspace, endpoint_id)).id, first=first, last=last)
    if not rows:
        raise NotFound(f"No delivery to {endpoint_id} has such a number: it is not given yet, or past retention.")
    return [row["event_id"] for row in rows]


async def _with_history(row: db.Row) -> DeliveryDetail:
    series = len(settings.get().retry_schedule) + 1
    attempts = await _ATTEMPTS.rows(event_id=row["event_id"], endpoint_id=row["endpoint_id"], series=series)
    history = [
        Attempt(*[*values, msgspec.json.decode(headers or "[]", type=list[tuple[str, str]])])
        for *values, headers in map(clock.texts, attempts)
    ]
    return DeliveryDetail(*[*clock.texts(row), history])


async def states_of(workspace: str, event_ids: Sequence[str]) -> dict[str, list[tuple[str, ExactState, str | None]]]:
    """Return for each of these events that has deliveries: their endpoints, states, and the endpoints' URLs."""
    rows = await _STATES.rows(
        workspace=workspace, events=event_ids, first=min(event_ids, default=""), last=max(event_ids, default="")
    )
    states: dict[str, list[tuple[str, ExactState, str | None]]] = {}
    for event_id, *delivery in rows:
        states.setdefault(event_id, []).append(tuple(delivery))
    return states


def _published(text: str | None) -> list[PublicKey]:
    kept = msgspec.json.decode(text or "[]", type=list[PublicKey])
    return [key for key in kept if key.state != "former" or clock.parse(key.since) > clock.now() - PUBLISHED_AFTER]


def _endpoint(row: db.Row) -> Endpoint:
    values = dict(row)
    try:
        values["headers"] = list(custom_headers.opened(values["id"], values["headers"]))
    except OperatorError as error:
        telemetry.fail("secret.unreadable", error=error, endpoint_id=values["id"], workspace_id=values["workspace_id"])
        values["headers"] = [UNREADABLE]
    values["public_keys"] = _published(values["public_keys"])
    values["filter"] = values["filter"] and msgspec.json.decode(values["filter"], type=Filter)
    if values["paused_until"] and values["paused_until"].replace(tzinfo=UTC) <= clock.now():  # infinity has no zone
        values["paused_until"] = None  # the pause is over
    return Endpoint(*clock.texts(values.values()))

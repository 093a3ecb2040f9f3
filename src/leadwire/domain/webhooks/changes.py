"""The rules for changing endpoints. A workspace of None is an operator, who may change all.

The rows belong to `delivery.endpoints`, which writes them.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET

from leadwire.delivery import pull, signing
from leadwire.delivery.endpoints import changes as rows
from leadwire.delivery.endpoints import discard as discards
from leadwire.delivery.envelope import EVERY_KIND
from leadwire.delivery.outbox import Event
from leadwire.delivery.transport.addresses import checked
from leadwire.domain.accounts import quotas
from leadwire.domain.webhooks import custom_headers, filters, reads, signing_keys
from leadwire.domain.webhooks.filters import Filter
from leadwire.domain.webhooks.samples import NAMED_SAMPLES, SAMPLES
from leadwire.domain.webhooks.schema import ChangedEndpoint, Endpoint, EndpointChange, NewEndpoint
from leadwire.infrastructure import clock, db, preconditions, settings
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import RateLimited, invalid_field
from leadwire.infrastructure.rate_limit import RateLimit

_COUNT: Final = sql("SELECT count(*) FROM webhook_endpoint WHERE workspace_id = :workspace")
PULL: Final = pull.SCHEME
"""How the URL of an endpoint begins whose receiver fetches."""
_TEST_WINDOW: Final = 300  # seconds
_FASTEST: Final = 60_000  # deliveries a minute


async def create(workspace: str, url: str, events: Sequence[str]) -> NewEndpoint:
    """A new endpoint, disabled, with its secret. Raises QuotaExceeded; Invalid for the URL or an unknown event kind."""
    url, kinds, secret = checked_url(url), _known_kinds(events), signing.new_secret()
    async with db.transaction():
        endpoint_id = await rows.create(workspace, url, kinds, secret)
        await quotas.check(workspace, "endpoints", _COUNT)
        if rows.is_strangers(url):
            await quotas.check(workspace, "host_endpoints", rows.TO_HOST, url=url)
    endpoint = await reads.endpoint(workspace, endpoint_id)
    return NewEndpoint(**msgspec.structs.asdict(endpoint), secret=secret)


def receiver(url: str, way: str) -> str:
    """Return the URL of a receiver that we `send` to, or that is to `fetch`: `pull:` and its host. Raises Invalid."""
    if way == "send" and url.startswith(PULL):
        raise invalid_field("/url", "invalid_url", "Enter the address that receives POST requests.")
    if way != "fetch" or url.startswith(PULL):
        return url
    try:
        return f"{PULL}{urlsplit(url).hostname or ''}"
    except ValueError:  # no address at all
        return PULL


def checked_url(url: str) -> str:
    """`url` as it will be kept: of a receiver, or `pull:NAME` of one that fetches. Raises Invalid for any other."""
    if url.startswith(pull.SCHEME):
        if not pull.URL.fullmatch(url):
            raise invalid_field("/url", "invalid_url", f"{pull.SCHEME} and a name of {pull.NAME_RULE}.")
        return url
    return checked(url, settings.get().allowed_networks)


async def configure(workspace: str | None, endpoint_id: str, change: EndpointChange, saw: str = "") -> ChangedEndpoint:
    """Change what is given, from the next attempt on. Raises NotFound, Invalid, QuotaExceeded; Conflict when the chosen
    settings, or the filter, are others than whoever changes them `saw` (`preconditions.digest`).

    Order holds among what is relayed from then on; another rate begins with a full second's worth. A URL of another
    origin loses the custom headers, unless the same change gives new ones: they are secrets of the old receiver. One of
    another host ends the pause that the old receiver has asked for.
    """
    values = _assigned(endpoint_id, change)
    async with db.transaction():
        before = await locked(workspace, endpoint_id)
        preconditions.check(saw, before.chosen if change.filter is UNSET else before.filter)
        url = str(values.get("url", before.url))
        moved, elsewhere = _origin(url) != _origin(before.url), _origin(url)[1] != _origin(before.url)[1]
        if url != before.url:  # what another address has failed counts no more
            values |= {"failing_since": None, "failures": 0}
        if elsewhere:
            values["new_host"] = await rows.is_new_host(before.workspace_id, url)
            if not before.held:
                values["paused_until"] = None
        removed = before.headers if moved and change.headers is UNSET else []
        if removed:
            values["headers"] = None
        if (wanted := values.pop("ed25519", before.ed25519)) != before.ed25519:
            values |= signing_keys.switched(endpoint_id, on=bool(wanted))
        again = bool(values.pop("auto_redrive", before.auto_redrive))
        if again != before.auto_redrive:
            values["auto_redrive_since"] = clock.now() if again else None
        if values:
            await rows.update(endpoint_id, values)
        if elsewhere and rows.is_strangers(url):
            await quotas.check(before.workspace_id, "host_endpoints", rows.TO_HOST, url=url)
        after = await reads.endpoint(workspace, endpoint_id)
    differences = _differences(before, after, new_values=bool(after.headers) and change.headers is not UNSET)
    return ChangedEndpoint(**msgspec.structs.asdict(after), changes=differences, removed_headers=removed)


def _assigned(endpoint_id: str, change: EndpointChange) -> dict[str, object]:
    """The columns that a change sets. Raises Invalid."""
    checks: dict[str, Callable[[Any], object]] = {
        "url": checked_url,
        "events": _known_kinds,
        "rate_limit": _rate,
        "headers": functools.partial(custom_headers.sealed, endpoint_id),
    }
    values = {name: value for name, value in msgspec.structs.asdict(change).items() if value is not UNSET}
    values |= {name: check(values[name]) for name, check in checks.items() if name in values}
    if change.filter is not UNSET:
        values["filter_path"] = path = filters.path_of(change.filter or Filter()) or None
        values["filter"] = msgspec.json.encode(change.filter).decode() if path else None
    return values | ({"rate_at": None} if "rate_limit" in values else {})


def _differences(before: Endpoint, after: Endpoint, *, new_values: bool) -> list[str]:
    """What the audit log says of a change. `new_values`: headers were given anew, perhaps under the same names."""
    told = []
    for name in EndpointChange.__struct_fields__:
        old, new = getattr(before, name), getattr(after, name)
        if old != new or (name == "headers" and new_values):
            told.append(f"{name}: {_shown(old)} -> {_shown(new)}")
    return told


def _shown(value: object) -> str:
    return " ".join(value) or "none" if isinstance(value, list) else "none" if value is None else str(value)


def _origin(url: str) -> tuple[str, str | None, int]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


async def locked(workspace: str | None, endpoint_id: str) -> Endpoint:
    """Return an endpoint that nobody else changes until the open transaction ends. Raises NotFound."""
    await rows.lock(endpoint_id)
    return await reads.endpoint(workspace, endpoint_id)


async def enable(workspace: str | None, endpoint_id: str) -> Endpoint:
    """Let events flow, those that waited meanwhile too. Raises NotFound."""
    return await _switch(workspace, endpoint_id, enabled=True, reason=None)


async def disable(workspace: str | None, endpoint_id: str) -> Endpoint:
    """Stop sending. What waits keeps waiting; what happens from now on is not for this endpoint. Raises NotFound."""
    return await _switch(workspace, endpoint_id, enabled=False, reason="by a person")


async def _switch(workspace: str | None, endpoint_id: str, *, enabled: bool, reason: str | None) -> Endpoint:
    """Does nothing to an endpoint that is so already."""
    async with db.transaction():
        if (await locked(workspace, endpoint_id)).enabled != enabled:
            values = {"enabled": enabled, "disabled_reason": reason, "failing_since": None, "failures": 0}
            await rows.update(endpoint_id, values)
        return await reads.endpoint(workspace, endpoint_id)


async def delete(workspace: str | None, endpoint_id: str) -> None:
    """Remove an endpoint and cancel the deliveries to it that are not finished. Raises NotFound."""
    async with db.transaction():
        await reads.endpoint(workspace, endpoint_id)
        await rows.delete(endpoint_id)


async def count_waiting(workspace: str | None, endpoint_id: str) -> int:
    """Return how many deliveries wait for an endpoint. Raise NotFound."""
    await reads.endpoint(workspace, endpoint_id)
    return await discards.count(endpoint_id)


async def discard(workspace: str | None, endpoint_id: str) -> int:
    """Let all be canceled that waits for an endpoint now. Return how many deliveries that is. Raise NotFound.

    Retries are among it. What is being sent is not, nor what waits later.
    """
    async with db.transaction():
        endpoint = await reads.endpoint(workspace, endpoint_id)
        await discards.start(endpoint_id, endpoint.workspace_id)
        return await discards.count(endpoint_id)


async def send_test(workspace: str | None, endpoint_id: str, kind: str | None = None) -> str:
    """Send a sample event to this endpoint alone, over the real path. Answers the event's id.

    Works while the endpoint is disabled; is tried once. `kind` defaults to the first it subscribes to.
    Raises NotFound, Invalid; RateLimited after too many to one host.
    """
    endpoint = await reads.endpoint(workspace, endpoint_id)
    (chosen,) = _known_kinds([kind or endpoint.events[0]])
    host, most = urlsplit(endpoint.url).hostname or endpoint.url, settings.get().test_event_rate
    if not await _test_limit(most).take_at_once(f"{endpoint.workspace_id} {host}"):
        message = f"At most {most} test events to {host} in five minutes. Wait a little."
        raise RateLimited(message, headers={"Retry-After": str(_TEST_WINDOW)})
    async with db.transaction():
        return await Event(
            workspace=endpoint.workspace_id,
            kind=chosen,  # type: ignore[arg-type]  # one of EVERY_KIND
            at=clock.now(),
            data=(SAMPLES | NAMED_SAMPLES)[chosen],
            test_endpoint_id=endpoint_id,
        ).record()


def _rate(limit: int | None) -> int | None:
    if limit is not None and not 1 <= limit <= _FASTEST:
        raise invalid_field("/rate_limit", "out_of_range", f"A rate is 1 to {_FASTEST} deliveries a minute.")
    return limit


def _known_kinds(events: Sequence[str]) -> list[str]:
    if unknown := [kind for kind in events if kind not in EVERY_KIND]:
        message = f"No such event: {', '.join(unknown)}. There are: {', '.join(EVERY_KIND)}."
        raise invalid_field("/events", "unknown_event", message)
    if not events:
        raise invalid_field("/events", "required", "Subscribe to at least one event.")
    return list(dict.fromkeys(events))


@functools.cache
def _test_limit(most: int) -> RateLimit:
    return RateLimit("test-events", most, window=_TEST_WINDOW)

"""Every change of an endpoint's row that a person makes. The rules are in `domain.webhooks`, which calls this.

A workspace of None is an operator, who may change all. What attempts say of an endpoint is in `worker.health`.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final

from piccolo.columns import Column

from leadwire.delivery.endpoints import discard, schedule
from leadwire.delivery.endpoints.table import WebhookEndpoint
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import Statement, columns, if_given, insert, param, statement

_IS_ID: Final = WebhookEndpoint.id == param("id")
_OF_WORKSPACE: Final = if_given(WebhookEndpoint.workspace_id, "workspace")

_INSERT: Final = insert(*columns(WebhookEndpoint, "id workspace_id url events secret created_at updated_at"))
_LOCK: Final = statement(WebhookEndpoint.select(WebhookEndpoint.id).where(_IS_ID), "FOR NO KEY UPDATE")
_DELETE: Final = statement(WebhookEndpoint.delete().where(_IS_ID))
_STAGE: Final = statement(WebhookEndpoint.update(staged_secret=param("secret"), staged_at=param("now")).where(_IS_ID))
_PROMOTE: Final = statement(
    WebhookEndpoint.update(
        secret=WebhookEndpoint.staged_secret, staged_secret=None, staged_at=None, updated_at=param("now")
    ).where(_IS_ID)
)
_DISCARD: Final = statement(
    WebhookEndpoint.update(staged_secret=None, staged_at=None, updated_at=param("now")).where(_IS_ID, _OF_WORKSPACE)
)


def _switch(*, enabled: bool) -> Statement:
    reason = None if enabled else "by a person"
    values: dict[Column | str, Any] = {"enabled": enabled, "disabled_reason": reason, "updated_at": param("now")}
    values |= schedule.LOOK | {"failing_since": None, "failures": 0}
    return statement(WebhookEndpoint.update(values).where(_IS_ID, _OF_WORKSPACE, WebhookEndpoint.enabled != enabled))


_ENABLE: Final = _switch(enabled=True)
_DISABLE: Final = _switch(enabled=False)


async def create(workspace: str, url: str, events: Sequence[str], sealed_secret: bytes) -> str:
    """Make a disabled endpoint. Return its id."""
    endpoint_id, now = ids.new("we"), clock.now()
    values = {"id": endpoint_id, "workspace_id": workspace, "url": url, "events": events, "secret": sealed_secret}
    await _INSERT.rows(**values, created_at=now, updated_at=now)
    return endpoint_id


async def lock(endpoint_id: str) -> None:
    """Let nobody else change the row until the open transaction ends."""
    await _LOCK.rows(id=endpoint_id)


async def update(endpoint_id: str, values: Mapping[str, Any]) -> None:
    """Set columns, by their names, and let the relay look at the endpoint. `updated_at` is set, too."""
    await _update(tuple(values)).rows(**values, updated_at=clock.now(), id=endpoint_id)


@functools.cache  # a text for each set of settings that a form or a command can send
def _update(names: tuple[str, ...]) -> Statement:
    values: dict[Column | str, Any] = {name: param(name) for name in (*names, "updated_at")}
    return statement(WebhookEndpoint.update(values | schedule.LOOK).where(_IS_ID))


async def enable(workspace: str | None, endpoint_id: str) -> None:
    """Send to it from now on. Does nothing if it is enabled, or there is none."""
    await _ENABLE.rows(id=endpoint_id, workspace=workspace, now=clock.now())


async def disable(workspace: str | None, endpoint_id: str) -> None:
    """Send nothing to it from now on. Does nothing if it is disabled, or there is none."""
    await _DISABLE.rows(id=endpoint_id, workspace=workspace, now=clock.now())


async def delete(endpoint_id: str) -> None:
    """Remove an endpoint. The relay then cancels the deliveries to it that are not finished, some at a time."""
    async with db.transaction():
        await _DELETE.rows(id=endpoint_id)  # first: it waits for whoever is making deliveries to it
        await discard.start(endpoint_id)


async def stage_secret(endpoint_id: str, sealed: bytes) -> None:
    """Keep the next secret beside the present one."""
    await _STAGE.rows(id=endpoint_id, secret=sealed, now=clock.now())


async def promote_secret(endpoint_id: str) -> None:
    """Let the staged secret replace the present one."""
    await _PROMOTE.rows(id=endpoint_id, now=clock.now())


async def discard_secret(workspace: str | None, endpoint_id: str) -> None:
    """Remove the staged secret, if there is one."""
    await _DISCARD.rows(id=endpoint_id, workspace=workspace, now=clock.now())

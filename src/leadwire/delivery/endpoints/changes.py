"""Every change of an endpoint's row that a person makes.

The rules are in `domain.webhooks`, which calls this. What attempts say of an endpoint is in `worker.health`.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from leadwire.delivery.endpoints import discard
from leadwire.delivery.endpoints.table import WebhookEndpoint, sealed
from leadwire.delivery.streams import push
from leadwire.delivery.transport.addresses import inside
from leadwire.infrastructure import clock, db, ids, settings
from leadwire.infrastructure.db.statements import Statement, columns, insert, load, named, sql

_INSERT: Final = insert(*columns(WebhookEndpoint, "id workspace_id url events secret new_host created_at updated_at"))
TO_HOST: Final = load(__file__)["to_host"]
_NONE_HAS_ANSWERED, _HOLD, _RELEASE, _DELETE_BATCH = named(__file__, "none_has_answered hold release delete_batch")


async def create(workspace: str, url: str, events: Sequence[str], secret: str) -> str:
    """Make a disabled endpoint. Return its id."""
    endpoint_id, now = ids.new("we"), clock.now()
    values = {"id": endpoint_id, "workspace_id": workspace, "url": url, "events": events}
    kept = sealed(endpoint_id, WebhookEndpoint.secret, secret)
    new_host = await is_new_host(workspace, url)
    await _INSERT.rows(**values, secret=kept, new_host=new_host, created_at=now, updated_at=now)
    return endpoint_id


def is_strangers(url: str) -> bool:
    """Whether a URL leads to somebody else's host. Plain http leads into the operator's own networks only."""
    host = urlsplit(url).hostname or ""
    own = inside("127.0.0.1" if host == "localhost" else host, settings.get().allowed_networks)
    return url.startswith("https://") and not own


async def is_new_host(workspace: str, url: str) -> bool:
    """Whether the host of a URL is a stranger's, and has not answered this workspace yet."""
    return is_strangers(url) and bool(await _NONE_HAS_ANSWERED.value(workspace=workspace, url=url))


async def lock(endpoint_id: str) -> None:
    """Let nobody else change the row until the open transaction ends."""
    row = WebhookEndpoint.select(WebhookEndpoint.id).where(WebhookEndpoint.id == endpoint_id)
    await row.lock_rows("NO KEY UPDATE")


async def update(endpoint_id: str, values: Mapping[str, Any]) -> None:
    """Set columns, by their names, and let the relay look at the endpoint. `updated_at` is set, too."""
    await _update(tuple(values)).rows(**values, updated_at=clock.now(), id=endpoint_id)
    db.after_commit(push.wake_relay)


@functools.cache  # a text for each set of columns that a form or a command can change
def _update(names: tuple[str, ...]) -> Statement:
    values = ", ".join(f"{name} = :{name}" for name in (*names, "updated_at"))
    # The relay looks at it at once, and opens it if it may.
    return sql(f"UPDATE webhook_endpoint SET {values}, open = false, due_at = now() WHERE id = :id")


async def delete(endpoint_id: str) -> None:
    """Remove an endpoint in the open transaction. The unfinished deliveries to it are canceled then."""
    # First: it waits for whoever is making deliveries to it.
    gone = WebhookEndpoint.delete().where(WebhookEndpoint.id == endpoint_id)
    rows = await gone.returning(WebhookEndpoint.workspace_id)
    await discard.start(endpoint_id, rows[0]["workspace_id"] if rows else "")


async def hold(workspace: str, *, held: bool) -> None:
    """Let deliveries to all endpoints of a workspace wait, retries included, or be sent again."""
    await (_HOLD if held else _RELEASE).rows(workspace=workspace)
    db.after_commit(push.wake_relay)


async def delete_batch(workspace: str, most: int) -> int:
    """Remove at most so many endpoints of a workspace whose deliveries are going to be deleted. Return how many."""
    return len(await _DELETE_BATCH.rows(workspace=workspace, most=most))

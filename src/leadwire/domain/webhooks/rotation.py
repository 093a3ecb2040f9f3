"""An endpoint's secret, and its replacement in two steps without a gap.

Staged, the next secret signs beside the present one in `webhook-signature`; the receiver learns it and accepts both.
Promoted, it is the secret, in `X-Service-Signature` too. A workspace of None is an operator.
"""

from leadwire.delivery import signing
from leadwire.domain.webhooks import reads
from leadwire.domain.webhooks.schema import Endpoint
from leadwire.infrastructure import clock, db, secret_box
from leadwire.infrastructure.errors import Conflict, NotFound


async def stage(workspace: str | None, endpoint_id: str, *, replace: bool = False) -> str:
    """Make the next secret, which signs too from now on; answers it.

    Raises NotFound; Conflict when one is staged already, unless it is to be replaced: a receiver may know it.
    """
    secret = signing.new_secret()
    async with db.transaction():
        if (await _row(workspace, endpoint_id, lock=True))["staged_secret"] is not None and not replace:
            raise Conflict("A secret is staged already.", code="already_staged")
        await _set(workspace, endpoint_id, "staged_secret = $3, staged_at = $4", secret_box.get().seal(secret))
    return secret


async def promote(workspace: str | None, endpoint_id: str) -> Endpoint:
    """Let the staged secret take the place of the present one. Raises NotFound, Conflict when none is staged."""
    async with db.transaction():
        if (await _row(workspace, endpoint_id, lock=True))["staged_secret"] is None:
            raise Conflict("No secret is staged.", code="nothing_staged")
        await _set(
            workspace,
            endpoint_id,
            "secret = staged_secret, staged_secret = $3, staged_at = NULL, updated_at = $4",
            None,
        )
        return await reads.endpoint(workspace, endpoint_id)


async def discard(workspace: str | None, endpoint_id: str) -> Endpoint:
    """Forget the staged secret. Raises NotFound."""
    await _set(workspace, endpoint_id, "staged_secret = $3, staged_at = NULL, updated_at = $4", None)
    return await reads.endpoint(workspace, endpoint_id)


async def reveal(workspace: str | None, endpoint_id: str) -> tuple[str, str | None]:
    """The secret and the staged one, to be shown to somebody who may see them. Raises NotFound."""
    row = await _row(workspace, endpoint_id)
    ring = secret_box.get()
    return ring.open(row["secret"]), ring.open(row["staged_secret"]) if row["staged_secret"] else None


async def _row(workspace: str | None, endpoint_id: str, *, lock: bool = False) -> db.Row:
    found = await db.row(
        f"""SELECT secret, staged_secret FROM webhook_endpoint
            WHERE id = $2 AND ($1::text IS NULL OR workspace_id = $1) {"FOR UPDATE" if lock else ""}""",
        workspace,
        endpoint_id,
    )
    if found is None:
        raise NotFound(f"There is no endpoint {endpoint_id}.")
    return found


async def _set(workspace: str | None, endpoint_id: str, assignments: str, sealed: bytes | None) -> None:
    changed = await db.rows(
        f"""UPDATE webhook_endpoint SET {assignments}
            WHERE id = $2 AND ($1::text IS NULL OR workspace_id = $1) RETURNING 1""",
        workspace, endpoint_id, sealed, clock.now(),
    )  # fmt: skip
    if not changed:
        raise NotFound(f"There is no endpoint {endpoint_id}.")

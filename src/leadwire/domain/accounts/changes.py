"""Every change of workspaces, API keys and users."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from leadwire.domain.accounts import keys, quotas
from leadwire.domain.accounts.roles import Role
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.errors import Conflict, FieldError, Invalid, NotFound

OVERLAPS: Final = (0, 3600, 86_400, 604_800)
"""Seconds that an old key may go on beside its successor."""

_KEYS_IN_USE: Final = """
SELECT count(*) FROM api_key
WHERE workspace_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)"""


async def create_workspace(name: str) -> str:
    """A new customer. Answers the workspace's id."""
    workspace = ids.new("ws")
    await db.rows("INSERT INTO workspace (id, name, created_at) VALUES ($1, $2, $3)", workspace, name, clock.now())
    return workspace


async def create_key(
    workspace: str, name: str, scopes: Sequence[str] = keys.SCOPES, expires_at: datetime | None = None
) -> tuple[str, str]:
    """A new API key. Answers its id and its text, which is kept nowhere. Raises Invalid, QuotaExceeded."""
    if unknown := [scope for scope in scopes if scope not in keys.SCOPES]:
        message = f"No such scope: {', '.join(unknown)}. There are: {', '.join(keys.SCOPES)}."
        raise Invalid(message, faults=(FieldError("unknown_scope", message, "/scopes"),))
    if not name.strip() or len(name) > 200:
        raise Invalid("A key needs a name of at most 200 characters.")
    key_id, key = ids.new("key"), keys.new()
    async with db.transaction():
        await db.rows(
            """INSERT INTO api_key (id, workspace_id, name, lookup, hash, scopes, created_at, expires_at)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8)""",
            key_id, workspace, name.strip(), key.lookup, key.hash, list(dict.fromkeys(scopes)), clock.now(), expires_at,
        )  # fmt: skip
        await quotas.check(workspace, "api_keys", _KEYS_IN_USE, clock.now())
    return key_id, key.text


async def roll_key(workspace: str | None, key_id: str, overlap: int) -> tuple[str, str]:
    """A new key with the same name and scopes; the old one ends after `overlap` seconds (0, 1 h, 24 h or 7 d).

    Answers the new key's id and text. Raises NotFound, also for a key that has ended; Invalid; QuotaExceeded.
    """
    if overlap not in OVERLAPS:
        raise Invalid(f"The overlap must be one of {', '.join(map(str, OVERLAPS))} seconds.")
    async with db.transaction():
        old = await db.row(
            """UPDATE api_key SET expires_at = least(expires_at, $3::timestamptz)
               WHERE id = $2 AND ($1::text IS NULL OR workspace_id = $1) AND revoked_at IS NULL
                 AND (expires_at IS NULL OR expires_at > $4) RETURNING workspace_id, name, scopes""",
            workspace, key_id, clock.now() + timedelta(seconds=overlap), clock.now(),
        )  # fmt: skip
        if old is None:
            raise NotFound(f"There is no API key {key_id} in use.")
        return await create_key(old["workspace_id"], old["name"], old["scopes"])


async def revoke_key(workspace: str | None, key_id: str) -> None:
    """End a key; within 5 s it works nowhere. Ending it twice is fine. Raises NotFound."""
    found = await db.value(
        """UPDATE api_key SET revoked_at = coalesce(revoked_at, $3)
           WHERE id = $2 AND ($1::text IS NULL OR workspace_id = $1) RETURNING id""",
        workspace, key_id, clock.now(),
    )  # fmt: skip
    if found is None:
        raise NotFound(f"There is no API key {key_id}.")


async def remove_user(workspace: str, user_id: str) -> str:
    """End an account and every session of it. Answers its address. Raises NotFound; Conflict for the last admin."""
    async with db.transaction():
        email, _ = await _held(workspace, user_id, stays_admin=False)
        await db.rows("DELETE FROM user_account WHERE workspace_id = $1 AND id = $2", workspace, user_id)
        return email


async def change_role(workspace: str, user_id: str, role: Role) -> tuple[str, str]:
    """Let somebody do more or less. Answers their address and the role before. Raises as `remove_user`."""
    async with db.transaction():
        email, before = await _held(workspace, user_id, stays_admin=role == "admin")
        await db.rows("UPDATE user_account SET role = $3 WHERE workspace_id = $1 AND id = $2", workspace, user_id, role)
        return email, before


async def _held(workspace: str, user_id: str, *, stays_admin: bool) -> tuple[str, str]:
    """A user's address and role; the rows of all users locked, so that two cannot both be the last admin but one."""
    people = await db.rows(
        "SELECT id, email, role FROM user_account WHERE workspace_id = $1 ORDER BY id FOR UPDATE", workspace
    )
    found = next((row for row in people if row["id"] == user_id), None)
    if found is None:
        raise NotFound("There is no such person in the team.")
    if not stays_admin and [row["id"] for row in people if row["role"] == "admin"] == [user_id]:
        raise Conflict("The last admin stays one: make somebody else an admin first.")
    return found["email"], found["role"]


async def note_use(key_ids: Sequence[str]) -> None:
    """Write down that keys were used, at most once a minute each."""
    await db.rows(
        """UPDATE api_key SET last_used_at = $2 WHERE id = ANY($1)
             AND (last_used_at IS NULL OR last_used_at < $2::timestamptz - interval '1 minute')""",
        list(key_ids), clock.now(),
    )  # fmt: skip

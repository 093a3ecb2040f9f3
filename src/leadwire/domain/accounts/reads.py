"""Looking callers up: an API key's text to the workspace and scopes it stands for."""

import hmac
from datetime import datetime
from typing import Final

import msgspec

from leadwire.domain.accounts import keys
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.errors import NotFound

_CACHED: Final = 5.0  # seconds: how long a revoked key may still work
_LARGEST: Final = 10_000


class Caller(msgspec.Struct, frozen=True):
    """Who is asking: the key that was used, its workspace and what it may do."""

    key_id: str
    workspace: str
    scopes: frozenset[str]
    expires_at: datetime | None


class KeyListed(msgspec.Struct, frozen=True):
    """An API key as the operator sees it: never its secret."""

    id: str
    workspace_id: str
    name: str
    starts_with: str
    scopes: list[str]
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None


class UserListed(msgspec.Struct, frozen=True):
    """A person with an account."""

    id: str
    workspace_id: str
    email: str
    role: str
    created_at: str


class Colleague(msgspec.Struct, frozen=True):
    """A person with an account, as the others of the workspace see them; `seen_at` while they are signed in."""

    id: str
    email: str
    role: str
    created_at: datetime
    seen_at: datetime | None
    second_factor: bool


class _Known(msgspec.Struct, frozen=True):
    caller: Caller
    until: float


_known: dict[bytes, _Known] = {}  # by the key's digest: no key is kept in clear


async def caller(key: str, monotonic: float) -> Caller | None:
    """Whose key this is, or None: malformed, unknown, revoked or expired. `monotonic` is the loop's time."""
    digest = keys.digest(key)
    known = _known.get(digest)
    if known is None or known.until < monotonic:
        known = await _look_up(key, digest, monotonic)
        if known is None:
            return None
    if known.caller.expires_at and known.caller.expires_at <= clock.now():
        return None
    return known.caller


def forget_keys() -> None:
    """Look every key up afresh from now on."""
    _known.clear()


async def listed(workspace: str | None = None) -> list[KeyListed]:
    """Every key, newest first; of one workspace or (for operators) of all."""
    found = await db.rows(
        """SELECT id, workspace_id, name, lookup, scopes, created_at, expires_at, last_used_at, revoked_at
           FROM api_key WHERE $1::text IS NULL OR workspace_id = $1 ORDER BY created_at DESC, id DESC""",
        workspace,
    )
    return [
        KeyListed(id_, owner, name, f"lw_{lookup}_", scopes, *(clock.iso(at) if at else None for at in times))  # type: ignore[arg-type]
        for id_, owner, name, lookup, scopes, *times in found
    ]


async def key(workspace: str, key_id: str) -> KeyListed:
    """One API key. Raises NotFound."""
    for found in await listed(workspace):
        if found.id == key_id:
            return found
    raise NotFound(f"There is no API key {key_id}.")


async def users(workspace: str | None = None) -> list[UserListed]:
    """Everybody with an account, oldest first; of one workspace or (for operators) of all."""
    found = await db.rows(
        """SELECT id, workspace_id, email, role, created_at FROM user_account
           WHERE $1::text IS NULL OR workspace_id = $1 ORDER BY created_at, id""",
        workspace,
    )
    return [
        UserListed(user_id, owner, email, role, clock.iso(created_at))
        for user_id, owner, email, role, created_at in found
    ]


async def team(workspace: str) -> list[Colleague]:
    """Everybody with an account in a workspace and when they were last there, oldest account first."""
    found = await db.rows(
        """SELECT id, email, role, created_at, (SELECT max(seen_at) FROM user_session s WHERE s.user_id = u.id),
               totp_secret IS NOT NULL FROM user_account u WHERE workspace_id = $1 ORDER BY created_at, id""",
        workspace,
    )
    return [Colleague(*row) for row in found]


async def workspaces() -> list[tuple[str, str]]:
    """Every workspace's id and name, oldest first."""
    return [(row["id"], row["name"]) for row in await db.rows("SELECT id, name FROM workspace ORDER BY created_at, id")]


async def _look_up(key: str, digest: bytes, monotonic: float) -> _Known | None:
    _known.pop(digest, None)
    if (lookup := keys.lookup_of(key)) is None:
        return None
    row = await db.row(
        "SELECT id, workspace_id, scopes, expires_at, hash FROM api_key WHERE lookup = $1 AND revoked_at IS NULL",
        lookup,
    )
    if row is None:
        return None
    id_, workspace, scopes, expires_at, stored = row
    if not hmac.compare_digest(stored, digest):
        return None
    if len(_known) >= _LARGEST:
        _known.clear()
    known = _known[digest] = _Known(Caller(id_, workspace, frozenset(scopes), expires_at), monotonic + _CACHED)
    return known

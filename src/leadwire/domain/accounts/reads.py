"""Look-ups: the caller of an API key, users and their sessions, invitations, the audit log."""

import hmac
from datetime import timedelta
from typing import Final

from msgspec import Struct
from piccolo.querystring import QueryString

from leadwire.domain.accounts import keys, schema
from leadwire.domain.accounts.table import ApiKey, Invitation, UserAccount, UserSession, Workspace
from leadwire.domain.listing.keyset import Keyset
from leadwire.infrastructure import clock
from leadwire.infrastructure.db.statements import if_given, param, sql, statement
from leadwire.infrastructure.errors import NotFound

_CACHED: Final = 5.0  # seconds: how long a revoked key may still work
_LARGEST: Final = 10_000
_ONLINE: Final = timedelta(seconds=150)  # an open inbox reports every 60 s

_KEY_BY_LOOKUP: Final = statement(
    ApiKey.select("id", "workspace_id", "scopes", "expires_at", "hash").where(
        ApiKey.lookup == param("lookup"), ApiKey.revoked_at.is_null()
    )
)
_START: Final = QueryString("'lw_' || {} || '_'", ApiKey.lookup)
_KEYS: Final = statement(
    ApiKey.select(
        "id", "workspace_id", "name", _START, "scopes", "created_at", "expires_at", "last_used_at", "revoked_at"
    )
    .where(if_given(ApiKey.workspace_id, "workspace"))
    .order_by("created_at", "id", ascending=False)
)
_USERS: Final = statement(
    UserAccount.select("id", "workspace_id", "email", "role", "created_at")
    .where(if_given(UserAccount.workspace_id, "workspace"))
    .order_by("created_at", "id")
)
# Each user with when the last of their sessions was used.
_TEAM: Final = sql("""
SELECT id, email, role, created_at, (SELECT max(seen_at) FROM user_session s WHERE s.user_id = u.id),
    totp_secret IS NOT NULL FROM user_account u WHERE workspace_id = :workspace ORDER BY created_at, id""")
_WORKSPACES: Final = statement(Workspace.select("id", "name").order_by("created_at", "id"))
_HAS_SECOND_FACTOR: Final = statement(
    UserAccount.select(QueryString("{} IS NOT NULL", UserAccount.totp_secret)).where(UserAccount.id == param("user"))
)
_SESSIONS: Final = statement(
    UserSession.select("id", "address", "agent", "seen_at")
    .where(UserSession.user_id == param("user"))
    .order_by("seen_at", ascending=False)
)
# Whether one of the users who may answer visitors has a session with the inbox open.
_AGENT_ONLINE: Final = sql("""
SELECT EXISTS (SELECT 1 FROM user_account u JOIN user_session s ON s.user_id = u.id
WHERE u.workspace_id = :workspace AND u.role IN ('admin', 'agent') AND s.present_at > :since)""")
_INVITATIONS: Final = statement(
    Invitation.select("id", "email", "role", "expires_at")
    .where(Invitation.workspace_id == param("workspace"), Invitation.expires_at > param("now"))
    .order_by("created_at", "id", ascending=False)
)
# An invitation that can still be used, with the name of its workspace.
_OFFER: Final = sql("""
SELECT i.workspace_id, w.name, i.email, i.role FROM invitation i JOIN workspace w ON w.id = i.workspace_id
WHERE i.hash = :hash AND i.expires_at > :now""")
_LOG: Final = Keyset(
    table="audit_entry",
    columns="id, at, actor, action, subject, detail, address",
    filters={"actor": "actor = :actor", "action": "action = :action"},
    key={"id": "text"},
)
# The distinct values of a column, each found by one step through an index: a DISTINCT would read the whole log.
_DISTINCT: Final = """
WITH RECURSIVE found AS (
    (SELECT {0} AS value FROM audit_entry WHERE workspace_id = :workspace ORDER BY {0} LIMIT 1)
    UNION ALL
    SELECT (SELECT {0} FROM audit_entry WHERE workspace_id = :workspace AND {0} > found.value ORDER BY {0} LIMIT 1)
    FROM found WHERE found.value IS NOT NULL
) SELECT value FROM found WHERE value IS NOT NULL"""
_ACTORS: Final = sql(_DISTINCT.format("actor"))
_ACTIONS: Final = sql(_DISTINCT.format("action"))


class _Known(Struct, frozen=True):
    caller: schema.Caller
    until: float


_known: dict[bytes, _Known] = {}  # by the key's digest: no key is stored in clear


async def caller(key: str, monotonic: float) -> schema.Caller | None:
    """Return whose key this is, or None: malformed, unknown, revoked or expired. `monotonic` is the loop's time."""
    digest = keys.digest(key)
    known = _known.get(digest)
    if known is None or known.until < monotonic:
        known = await _look_up(key, digest, monotonic)
    if known is None or (known.caller.expires_at and known.caller.expires_at <= clock.now()):
        return None
    return known.caller


def forget_keys() -> None:
    """Drop the cache of keys."""
    _known.clear()


async def listed(workspace: str | None = None) -> list[schema.KeyListed]:
    """Every key, newest first; of one workspace or (for operators) of all."""
    return [schema.KeyListed(*clock.texts(row)) for row in await _KEYS.rows(workspace=workspace)]


async def key(workspace: str, key_id: str) -> schema.KeyListed:
    """One API key. Raise NotFound."""
    found = next((one for one in await listed(workspace) if one.id == key_id), None)
    if found is None:
        raise NotFound(f"There is no API key {key_id}.")
    return found


async def users(workspace: str | None = None) -> list[schema.UserListed]:
    """Everybody with an account, oldest first; of one workspace or (for operators) of all."""
    return [schema.UserListed(*clock.texts(row)) for row in await _USERS.rows(workspace=workspace)]


async def team(workspace: str) -> list[schema.Colleague]:
    """Everybody with an account in a workspace and when they were last there, oldest account first."""
    return [schema.Colleague(*row) for row in await _TEAM.rows(workspace=workspace)]


async def workspaces() -> list[tuple[str, str]]:
    """Every workspace's id and name, oldest first."""
    return [(row["id"], row["name"]) for row in await _WORKSPACES.rows()]


async def has_second_factor(user_id: str) -> bool:
    """Whether this user is asked for a code."""
    return bool(await _HAS_SECOND_FACTOR.value(user=user_id))


async def sessions(user_id: str) -> list[schema.Session]:
    """Where a user is signed in, last used first."""
    return [schema.Session(*row) for row in await _SESSIONS.rows(user=user_id)]


async def agent_online(workspace: str) -> bool:
    """Whether somebody who may answer visitors has the inbox open."""
    return bool(await _AGENT_ONLINE.value(workspace=workspace, since=clock.now() - _ONLINE))


async def invitations(workspace: str) -> list[schema.OpenInvitation]:
    """The invitations that can still be used, newest first."""
    return [schema.OpenInvitation(*row) for row in await _INVITATIONS.rows(workspace=workspace, now=clock.now())]


async def offer(token: str) -> schema.Offer:
    """What an invitation's link leads to. Raise NotFound: never made, used, replaced, or older than three days."""
    missing = NotFound("This link has been used, replaced, or is too old. Ask for a new one.")
    return schema.Offer(*await _OFFER.one(missing, hash=keys.digest(token), now=clock.now()))


async def log_page(
    workspace: str, query: schema.LogQuery, limit: int = 50
) -> tuple[list[schema.LoggedEntry], str | None]:
    """One page of the audit log, newest first, and the cursor of the next. Raise InvalidParameter for a bad `after`."""
    found = await _LOG.page(workspace, query, query.after, limit)
    return [schema.LoggedEntry(*clock.texts(row)) for row in found.items], found.after


async def log_actors(workspace: str) -> list[str]:
    """Everybody whom the audit log names."""
    return [row["value"] for row in await _ACTORS.rows(workspace=workspace)]


async def log_actions(workspace: str) -> list[str]:
    """Every kind of action in the audit log."""
    return [row["value"] for row in await _ACTIONS.rows(workspace=workspace)]


async def _look_up(key: str, digest: bytes, monotonic: float) -> _Known | None:
    _known.pop(digest, None)
    lookup = keys.lookup_of(key)
    row = await _KEY_BY_LOOKUP.row(lookup=lookup) if lookup else None
    if row is None or not hmac.compare_digest(row["hash"], digest):
        return None
    id_, workspace, scopes, expires_at, _ = row
    if len(_known) >= _LARGEST:
        _known.clear()
    known = _known[digest] = _Known(schema.Caller(id_, workspace, frozenset(scopes), expires_at), monotonic + _CACHED)
    return known

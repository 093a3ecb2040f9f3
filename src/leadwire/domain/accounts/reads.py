"""Look-ups: the caller of an API key, users and their sessions, invitations. Rows are for templates."""

import hmac
import math
from collections.abc import Collection
from typing import Final

from leadwire.domain.accounts import keys, schema
from leadwire.infrastructure import clock, db, settings
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import DomainError, NotFound, WorkspaceMoving, WorkspaceSuspended
from leadwire.infrastructure.rate_limit import BURST

_CACHED: Final = 5.0  # seconds: how long a revoked key may still work
_LARGEST: Final = 10_000

_KEY_BY_LOOKUP, _ME, _SESSIONS, _OFFER, _MOVE = named(__file__, "key_by_lookup me sessions offer move")
# Callers, and until when they are known, by the key's digest: no key is stored in clear.
_known: dict[bytes, tuple[schema.Caller, float]] = {}


@query()
async def suspended(workspaces: Collection[str]) -> set[str]:
    """Those of some workspaces that are suspended, or are being deleted."""


@query("There is no workspace {workspace}.")
async def locked(workspace: str) -> db.Row:
    """The row of a workspace. Until the open transaction ends, additions to it (see `quotas`) and other changes of it
    wait. Raise NotFound.
    """


@query()
async def locked_login(login_id: str) -> db.Row | None:
    """The `email` and `password_hash` of a login. Until the open transaction ends, other changes of it wait."""


async def why_closed(workspace: str, suspended: type[DomainError] = WorkspaceSuspended) -> DomainError:
    """Return the error for a request to a workspace that is closed: it comes here, has gone, or is suspended."""
    move_id, moved_to = await _MOVE.row(workspace=workspace) or (None, None)
    if moved_to is not None:
        return WorkspaceMoving(f"The workspace has moved to {moved_to or 'another installation'}.")
    return WorkspaceMoving() if move_id else suspended()


async def caller(key: str, monotonic: float) -> schema.Caller | None:
    """Return whose key this is, or None: malformed, unknown, revoked or expired. `monotonic` is the loop's time."""
    digest = keys.digest(key)
    row, until = _known.get(digest, (None, -math.inf))
    if until < monotonic:
        _known.pop(digest, None)
        row = await _look_up(key, digest)
        if row is None:
            return None
        if len(_known) >= _LARGEST:
            _known.clear()
        _known[digest] = row, monotonic + _CACHED
    return None if row is None or (row.expires_at and row.expires_at <= clock.now()) else row


@query()
async def in_use(key_id: str) -> db.Row | None:
    """Return the `networks` of a key, if it has not ended and its workspace is open: asked anew, for what goes on for
    long.
    """


async def me(caller: schema.Caller) -> schema.Me:
    """Return what a caller may know of its own key. Raise NotFound when it has just been deleted."""
    row = await _ME.one(NotFound("There is no such key."), workspace=caller.workspace, key=caller.key_id)
    key_id, name, _, workspace, workspace_name, created_at, expires_at = clock.texts(row)
    scopes: list[str] = [scope for scope in keys.SCOPES if scope in caller.scopes]
    most = (settings.get().rate_limit if caller.requests is None else caller.requests) or None
    limits = schema.Limits(most, most and min(most, BURST))
    owner = schema.Workspace(workspace, workspace_name)
    return schema.Me(key_id, name, scopes, owner, limits, created_at, expires_at)


@query()
async def listed(workspace: str | None = None) -> list[schema.KeyListed]:
    """Every key, newest first; of one workspace or (for operators) of all."""


async def keys_ending() -> list[schema.KeyListed]:
    """Every key that ends within 30 days, of all workspaces, the first to end first; and behind them those that last
    longer than the settings allow new ones to.
    """
    keys_listed, days = await listed(), settings.get().key_life_days
    soon = sorted((key for key in keys_listed if key.ends_soon), key=lambda key: key.expires_at or "")
    return soon + [key for key in keys_listed if days and key not in soon and key.lasts_beyond(clock.ago(days=-days))]


@query()
async def users(workspace: str | None = None) -> list[schema.UserListed]:
    """Everybody with an account, oldest first; of one workspace or (for operators) of all."""


@query()
async def agent(workspace: str, user_id: str) -> schema.UserListed | None:
    """Somebody who answers visitors. Until the open transaction ends, they go on doing so: a change of them waits."""


@query()
async def team(workspace: str) -> list[db.Row]:
    """Everybody with an account in a workspace, with when they were last there, oldest account first."""


@query()
async def workspace_list() -> list[schema.WorkspaceListed]:
    """Every workspace, oldest first."""


@query()
async def passkeys(login_id: str) -> list[db.Row]:
    """A login's passkeys, oldest first."""


@query()
async def agent_online(workspace: str) -> bool:
    """Whether somebody who may answer visitors has the inbox open."""


@query()
async def invitations(workspace: str) -> list[db.Row]:
    """The invitations that can still be used, newest first."""


async def offer(token: str) -> db.Row:
    """What an invitation's link leads to. Raise NotFound: never made, used, replaced, or older than three days."""
    missing = NotFound("This link has been used, replaced, or is too old. Ask for a new one.")
    return await _OFFER.one(missing, hash=keys.digest(token), now=clock.now())


async def sessions(person: schema.Person) -> list[db.Row]:
    """Where a person is signed in, in any workspace, last used first. To who came from a provider: there alone."""
    return await _SESSIONS.rows(login=person.login_id, only=person.user_id if person.provider else None)


@query("There is no such person.")
async def factors(login_id: str) -> db.Row:
    """What a person has besides the password: `app`, and the number of unused recovery `codes`. Raise NotFound."""


async def _look_up(key: str, digest: bytes) -> schema.Caller | None:
    lookup = keys.lookup_of(key)
    row = await _KEY_BY_LOOKUP.row(lookup=lookup) if lookup else None
    if row is None or not hmac.compare_digest(row["hash"], digest):
        return None
    id_, workspace, scopes, ends, suspended, requests, allowed, _ = row
    return schema.Caller(id_, workspace, keys.granted(scopes), ends, suspended, requests, tuple(allowed))

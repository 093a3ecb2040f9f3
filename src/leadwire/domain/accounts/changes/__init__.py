"""Workspaces and API keys are made here. What happens to them later, and the team, are in the files beside it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from leadwire.domain.accounts import keys, quotas
from leadwire.domain.accounts import networks as allow_lists
from leadwire.domain.accounts.table import ApiKey, Workspace
from leadwire.infrastructure import clock, db, ids, preconditions, settings
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import columns, insert, named
from leadwire.infrastructure.errors import Conflict, Invalid, NotFound, invalid_field

OVERLAPS: Final = (0, 3600, 86_400, 604_800)
"""Seconds that an old key may go on beside its successor."""

_ADD_WORKSPACE: Final = insert(*columns(Workspace, "id name created_at"))
_ADD_KEY: Final = insert(*columns(ApiKey, "id workspace_id name lookup hash scopes created_at expires_at networks"))
_COUNT_KEYS, _END_KEY_LATER, _SET_NETWORKS = named(__file__, "count_keys end_key_later set_networks")


async def create_workspace(name: str) -> str:
    """Add a customer. Return the workspace's id."""
    workspace = ids.new("ws")
    await _ADD_WORKSPACE.rows(id=workspace, name=name, created_at=clock.now())
    return workspace


def key_end(expires_at: datetime | None) -> datetime | None:
    """When a new key is to end, as the settings allow it. Raise Invalid."""
    days = settings.get().key_life_days
    latest = clock.now() + timedelta(days=days) if days else None
    if latest and expires_at and expires_at > latest:
        raise invalid_field("/expires_at", "too_late", f"Here a key lasts {days} days at the most.")
    return expires_at or latest


def key_lives() -> dict[str, str]:
    """For how many days a new key may be wanted, in words; none for ever. As the settings allow it."""
    lives = {"": "never", "30": "in 30 days", "90": "in 90 days", "365": "in a year"}
    if not (most := settings.get().key_life_days):
        return lives
    return {days: word for days, word in lives.items() if days and int(days) < most} | {str(most): f"in {most} days"}


async def create_key(
    workspace: str,
    name: str,
    scopes: Sequence[str] = keys.SCOPES,
    expires_at: datetime | None = None,
    networks: Sequence[str] = (),
) -> tuple[str, str]:
    """Add an API key, which may be used from these `networks` alone, if any. Without `expires_at` it lasts as long as
    the settings allow. Return its id and its text, which is stored nowhere. Raise Invalid, QuotaExceeded.
    """
    if unknown := [scope for scope in scopes if scope not in keys.SCOPES]:
        message = f"No such scope: {', '.join(unknown)}. There are: {', '.join(keys.SCOPES)}."
        raise invalid_field("/scopes", "unknown_scope", message)
    if not name.strip() or len(name) > 200:
        raise Invalid("A key needs a name of at most 200 characters.")
    allowed, ends = allow_lists.checked(networks), key_end(expires_at)
    key_id, key, now = ids.new("key"), keys.new(), clock.now()
    async with db.transaction():
        await _ADD_KEY.rows(
            id=key_id, workspace_id=workspace, name=name.strip(), lookup=keys.lookup_of(key), hash=keys.digest(key),
            scopes=list(dict.fromkeys(scopes)), created_at=now, expires_at=ends, networks=allowed,
        )  # fmt: skip
        await quotas.check(workspace, "api_keys", _COUNT_KEYS, now=clock.now())
    return key_id, key


async def roll_key(workspace: str | None, key_id: str, overlap: int) -> tuple[str, str]:
    """Replace a key by one with the same name, scopes and networks, which lasts as long as the old one was to, if that
    had an end; the old one ends after `overlap` seconds, one of `OVERLAPS`.

    Return the new key's id and text. Raise NotFound, also for a key that has ended; Conflict for one that was rolled
    before: its end is that of its overlap; Invalid; QuotaExceeded.
    """
    if overlap not in OVERLAPS:
        raise Invalid(f"The overlap must be one of {', '.join(map(str, OVERLAPS))} seconds.")
    async with db.transaction():
        now = clock.now()
        missing, end = NotFound(f"There is no API key {key_id} in use."), now + timedelta(seconds=overlap)
        old = await _END_KEY_LATER.one(missing, workspace=workspace, id=key_id, end=end, now=now)
        if rolled_to := old["rolled_to"]:
            newer = f"the newer one of the same name ({rolled_to})"
            raise Conflict(f"This key was rolled before. Roll {newer} instead, or create one.", code="key_rolled")
        ends = min(filter(None, (old["life"] and now + old["life"], key_end(None))), default=None)
        successor, key = await create_key(old["workspace_id"], old["name"], old["scopes"], ends, old["networks"])
        await ApiKey.update({ApiKey.successor: successor}).where(ApiKey.id == key_id)
        return successor, key


async def set_key_networks(
    workspace: str, key_id: str, networks: Sequence[str], saw: str = ""
) -> tuple[list[str], list[str]]:
    """Let a key be used from these networks alone; from anywhere when there are none. Within 5 s it holds everywhere.

    Return what was and what is. Raise NotFound, also for a key that has ended; Invalid; Conflict when it was something
    else than whoever changes it `saw` (`preconditions.digest`).
    """
    allowed, missing = allow_lists.checked(networks), NotFound(f"There is no API key {key_id} in use.")
    async with db.transaction():
        before = await _SET_NETWORKS.one(missing, workspace=workspace, id=key_id, now=clock.now(), networks=allowed)
        preconditions.check(saw, before["networks"])
    return list(before["networks"]), allowed


@query("There is no API key {key_id}.")
async def revoke_key(workspace: str | None, key_id: str) -> bool:
    """End a key; within 5 s it works nowhere. Ending it twice is fine. Raise NotFound."""


@query()
async def note_use(key_ids: list[str]) -> None:
    """Record that keys were used, at most once a minute each."""

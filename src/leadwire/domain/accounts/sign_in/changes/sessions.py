"""Signed-in browsers. The cookie holds 256 random bits, the database their SHA-256; each can be ended from outside.

A token is only ever made here, at sign-in: one that a browser brings along is looked up, never adopted.
How long one lasts is in the settings `session_idle` and `session_life`.

A browser that somebody has signed in with before is known by another cookie, of 128 random bits. Whoever signs in with
another one is told by mail. Passwords tried from a known one are counted apart from those of strangers. That cookie
opens nothing.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from leadwire.domain.accounts import keys, networks, notify, reads
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.schema import Person, has_role
from leadwire.domain.accounts.table import UserSession
from leadwire.infrastructure import clock, db, ids, settings, user_agents
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import Conflict, NotFound

PRESENCE_EVERY: Final = 60.0
"""Seconds between two reports of an open inbox, see `reads.agent_online`."""

CHECKED_EVERY: Final = 5.0
"""Seconds between two looks whether the session of a download has ended."""

_ENDED: Final = "You have just been signed out. Sign in again."
_SEEN_EVERY: Final = timedelta(minutes=1)
_LONGEST_AGENT: Final = 300

_BEGIN, _FIND, _OTHER, _SWITCH, _LIVES, _SEEN, _END_ONE, _KNOW, _LOCK_OF = named(
    __file__, "begin find other switch lives seen end_one know lock_of"
)


class Browser(NamedTuple):
    """What a request comes from: its network, the browser's name for itself, and what the browser is known by."""

    address: str
    agent: str = ""
    mark: str = ""


async def begin(
    user_id: str,
    browser: Browser,
    *,
    joins: bool = False,
    provider: tuple[str, str] | None = None,
    confirmed_at: datetime | None = None,
) -> str:
    """Begin a session of an account whose owner has just proved who they are. Return its token, stored nowhere.

    The browser is known from now on. If it is new its user is told, unless they have just joined with it.
    At a `provider` the session has a name, too, and may have been `confirmed_at` an earlier time.
    """
    token, now = secrets.token_urlsafe(32), clock.now()
    provider_id, provider_session = provider or (None, None)
    login_id = await _BEGIN.value(
        id=ids.new("sess"), user_id=user_id, hash=keys.digest(token), created_at=now, seen_at=now,
        confirmed_at=confirmed_at or now, address=browser.address, agent=browser.agent[:_LONGEST_AGENT],
        provider_id=provider_id, provider_session=provider_session,
    )  # fmt: skip
    # What a provider vouches for is no browser of whoever has the password.
    mark = f"{provider_id} {browser.mark}" if provider_id and browser.mark else browser.mark
    if await know_browser(login_id, mark) and not joins:
        told = {"address": browser.address, "agent": user_agents.browser_name(browser.agent)}
        await notify.tell(login_id, "new_sign_in", **told)
    return token


async def switch(person: Person, user_id: str) -> str:
    """Go on in another workspace, with this account of the same login. Return the token of the session that replaces
    the present one, and lasts no longer. Raise NotFound; Conflict where such a session may not be.
    """
    missing = NotFound("You have no account there, or the workspace is suspended.")
    workspace, name, allowed, barred = await _OTHER.one(missing, user=user_id, login=person.login_id)
    if person.provider or barred:
        raise Conflict(f"{name} is opened by a sign-in of its own: sign out, and use single sign-on there.")
    if not networks.overlap(person.address, allowed):
        raise Conflict(f"{name} lets people in from certain networks only, and you are at {person.address}.")
    token = secrets.token_urlsafe(32)
    async with db.transaction():
        await lock_login(person)  # whoever ends all sessions would not see the new one
        switched = {"id": ids.new("sess"), "user": user_id, "hash": keys.digest(token)}
        await _SWITCH.one(NotFound("There is no such session."), session=person.session_id, **switched)
        entry = audit.Entry("user.signed_in", user_id, "from another workspace")
        await audit.record(workspace, person.email, entry, person.address)
    return token


async def person(token: str | None, address: str) -> Person | None:
    """Return whose token this is, and record that they were seen; None when it is unknown, has ended or is too old, or
    its workspace is suspended.
    """
    now = clock.now()
    seen = {"address": address, "lately": now - _SEEN_EVERY}
    row = await _FIND.row(hash=keys.digest(token), **seen, **_bounds()) if token else None
    if token is None or row is None:
        return None
    *columns, noted = row
    form_token = hmac.new(token.encode(), b"form", hashlib.sha256).hexdigest()
    person = Person(*[*columns, address, form_token])
    if not noted:
        await _SEEN.rows(id=person.session_id, now=now, address=address)
    return person


async def is_active(person: Person) -> bool:
    """Whether a session has not ended: by its owner, with their account, by its age, or with a suspension; was last
    used from where it may be; and its owner may do all that they might.
    """
    address, allowed, role = await _LIVES.row(id=person.session_id, **_bounds()) or ("", [], "")
    return has_role(role, person.role) and networks.overlap(address, allowed)


async def while_active(person: Person, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield what is sent for long, for as long as the session has not ended. Raise Conflict then."""
    looked = time.monotonic()
    async for chunk in chunks:
        if time.monotonic() - looked >= CHECKED_EVERY:
            if not await is_active(person):
                raise Conflict(_ENDED)
            looked = time.monotonic()
        yield chunk


async def lock_login(person: Person) -> None:
    """Lock the login of a person who changes what opens it, in the open transaction.

    Raise Conflict where their session has ended meanwhile, as by a new password: then it may not be they.
    """
    await reads.locked_login(person.login_id)
    if not await is_active(person):
        raise Conflict(_ENDED)


async def end(token: str | None) -> None:
    """End the session of this token, if there is one."""
    if token:
        await UserSession.delete().where(UserSession.hash == keys.digest(token))


@query()
async def end_all(login_id: str, but: str | None = None) -> int:
    """End every session of a login that is locked, except the one with the id `but`. Return how many."""


async def end_of(user_id: str) -> tuple[int, str]:
    """End every session of whoever has an account, in other workspaces, too, in the open transaction. Return how
    many, and their login.
    """
    login_id: str = await _LOCK_OF.value(user=user_id)
    return await end_all(login_id), login_id


async def end_one(person: Person, session_id: str) -> None:
    """End one of the sessions that `reads.sessions` shows a person. Raise NotFound."""
    only = person.user_id if person.provider else None
    await _END_ONE.one(NotFound("There is no such session."), login=person.login_id, only=only, id=session_id)


async def update(session_id: str, **values: datetime | str | None) -> None:
    """Set `present_at` (the inbox is open), `confirmed_at` (the password was given) or `flash` (for the next page)."""
    for name, value in values.items():
        await UserSession.update({name: value}).where(UserSession.id == session_id)


async def know_browser(login_id: str, mark: str) -> bool:
    """Know this browser from now on, if it has a `mark`. Return whether it is new."""
    return bool(mark) and await _KNOW.row(login=login_id, mark=keys.digest(mark).hex()) is not None


def _bounds() -> dict[str, datetime]:
    """What a session must have begun after, and been used after."""
    chosen = settings.get()
    return {"oldest": clock.ago(seconds=chosen.session_life), "idle": clock.ago(seconds=chosen.session_idle)}

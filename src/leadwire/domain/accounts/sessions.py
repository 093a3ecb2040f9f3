"""Signed-in browsers. The cookie holds 256 random bits, the database their SHA-256; each can be ended from outside.

A token is only ever made here, at sign-in: one that a browser brings along is looked up, never adopted.
"""

import hashlib
import hmac
import secrets
from datetime import datetime, timedelta
from typing import Final

import msgspec

from leadwire.domain.accounts.roles import Role
from leadwire.infrastructure import clock, db, ids, settings
from leadwire.infrastructure.errors import NotFound

CONFIRMED: Final = timedelta(minutes=10)
"""How long after the password was given secrets may be shown."""

_SEEN_EVERY: Final = timedelta(minutes=1)
_LONGEST_AGENT: Final = 300


class Person(msgspec.Struct, frozen=True):
    """Who is signed in: their account, the session they use and where they are."""

    user_id: str
    email: str
    role: Role
    workspace: str
    workspace_name: str
    session_id: str
    confirmed_at: datetime
    form_token: str
    """Proof, inside a form, that the form came from a page of this session."""
    address: str
    flash: str | None
    alone: bool
    """Whether this is the only workspace of the instance."""
    second_factor: bool
    """Whether signing in took a code, too."""

    @property
    def operator(self) -> bool:
        """Whether they may look at the whole instance: an admin whom LEADWIRE_OPERATORS names, or who is alone here."""
        operators = settings.get().operators
        return self.role == "admin" and (self.email in operators if operators else self.alone)

    @property
    def lacks_second_factor(self) -> bool:
        """Whether they must set one up first."""
        asked = settings.get().second_factor
        return not self.second_factor and (asked == "everybody" or (asked == "admins" and self.role == "admin"))

    @property
    def confirmed(self) -> bool:
        """Whether the password was given lately enough to be shown a secret."""
        return self.confirmed_at > clock.now() - CONFIRMED


class Seen(msgspec.Struct, frozen=True):
    """One signed-in browser, as its owner sees it."""

    id: str
    address: str
    agent: str
    seen_at: datetime


async def begin(user_id: str, address: str, agent: str) -> str:
    """A new session of a person who has just given their password. Answers its token, which is kept nowhere."""
    token, now = secrets.token_urlsafe(32), clock.now()
    await db.rows(
        """INSERT INTO user_session (id, user_id, hash, created_at, seen_at, confirmed_at, address, agent)
           VALUES ($1, $2, $3, $4, $4, $4, $5, $6)""",
        ids.new("sess"), user_id, _digest(token), now, address, agent[:_LONGEST_AGENT],
    )  # fmt: skip
    return token


async def person(token: str | None, address: str) -> Person | None:
    """Whose token this is, or None: unknown, ended, unused for too long, or too old."""
    if not token:
        return None
    now, (oldest, idle) = clock.now(), _bounds()
    found = await db.row(
        """SELECT u.id, u.email, u.role, u.workspace_id, w.name, s.id, s.confirmed_at, s.seen_at, s.flash,
               NOT EXISTS (SELECT 1 FROM workspace other WHERE other.id <> w.id) AS alone,
               u.totp_secret IS NOT NULL AS second_factor
           FROM user_session s JOIN user_account u ON u.id = s.user_id JOIN workspace w ON w.id = u.workspace_id
           WHERE s.hash = $1 AND s.created_at > $2 AND s.seen_at > $3""",
        _digest(token), oldest, idle,
    )  # fmt: skip
    if found is None:
        return None
    user_id, email, role, workspace, name, session_id, confirmed_at, seen_at, flash, alone, factor = found
    if seen_at < now - _SEEN_EVERY:
        await db.rows("UPDATE user_session SET seen_at = $2, address = $3 WHERE id = $1", session_id, now, address)
    return Person(
        user_id,
        email,
        role,
        workspace,
        name,
        session_id,
        confirmed_at,
        _form_token(token),
        address,
        flash,
        alone,
        factor,
    )


async def lives(session_id: str) -> bool:
    """Whether a session has not ended: by its owner, with their account, or by its age."""
    return bool(
        await db.value(
            "SELECT 1 FROM user_session WHERE id = $1 AND created_at > $2 AND seen_at > $3", session_id, *_bounds()
        )
    )


async def end(token: str | None) -> None:
    """End the session of this token, if there is one."""
    if token:
        await db.rows("DELETE FROM user_session WHERE hash = $1", _digest(token))


async def end_all(user_id: str, but: str | None = None) -> None:
    """End every session of a person, except the one with the id `but`."""
    await db.rows("DELETE FROM user_session WHERE user_id = $1 AND ($2::text IS NULL OR id <> $2)", user_id, but)


async def end_one(user_id: str, session_id: str) -> None:
    """End one session of a person. Raises NotFound."""
    if not await db.value("DELETE FROM user_session WHERE id = $2 AND user_id = $1 RETURNING id", user_id, session_id):
        raise NotFound("There is no such session.")


async def listed(user_id: str) -> list[Seen]:
    """Where a person is signed in, last seen first."""
    found = await db.rows(
        "SELECT id, address, agent, seen_at FROM user_session WHERE user_id = $1 ORDER BY seen_at DESC", user_id
    )
    return [Seen(*row) for row in found]


async def confirm(session_id: str) -> None:
    """Note that the password was given again."""
    await db.rows("UPDATE user_session SET confirmed_at = $2 WHERE id = $1", session_id, clock.now())


async def leave_notice(session_id: str, text: str) -> None:
    """Have the next page of this session say `text`, once."""
    await db.rows("UPDATE user_session SET flash = $2 WHERE id = $1", session_id, text)


async def take_notice(session_id: str) -> None:
    """The page has said it."""
    await db.rows("UPDATE user_session SET flash = NULL WHERE id = $1", session_id)


async def delete_ended() -> None:
    """Delete what can never be used again."""
    await db.rows("DELETE FROM user_session WHERE created_at <= $1 OR seen_at <= $2", *_bounds())


def _bounds() -> tuple[datetime, datetime]:
    """What a session must have begun after, and been used after."""
    chosen = settings.get()
    return clock.ago(seconds=chosen.session_life), clock.ago(seconds=chosen.session_idle)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _form_token(token: str) -> str:
    return hmac.new(token.encode(), b"form", hashlib.sha256).hexdigest()

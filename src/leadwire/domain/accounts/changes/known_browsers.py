"""Browsers that somebody has signed in with before: a cookie of 128 random bits each, of which the hash is stored.

Whoever signs in with another one is told by mail. Passwords tried from a known one are counted apart from those of
strangers. The cookie opens nothing.
"""

from collections.abc import Sequence
from typing import Final

from leadwire.domain.accounts import keys
from leadwire.domain.accounts.changes import notify
from leadwire.infrastructure.db.statements import sql

_LONGEST_AGENT: Final = 100
# Know a browser from now on, if it is new: it and the 19 before it.
_NOTE: Final = sql("""
UPDATE user_account SET known_browsers =
    (array_append(known_browsers, :mark::text))[greatest(cardinality(known_browsers) - 18, 1):]
WHERE id = :user AND :mark <> ALL (known_browsers) RETURNING id""")


async def note(user_id: str, mark: str, address: str, agent: str, *, joins: bool = False) -> None:
    """Know this browser from now on, and tell its user if it is new, unless they have just joined with it. Nothing
    happens without a `mark`.
    """
    if await know(user_id, mark) and not joins:
        await notify.tell(user_id, "new_sign_in", address=address, agent=agent[:_LONGEST_AGENT])


def name(mark: str, known: Sequence[str]) -> str:
    """What is stored of a browser's mark, if it is among the `known` ones of an account; else an empty string."""
    stored = keys.digest(mark).hex()
    return stored if mark and stored in known else ""


async def know(user_id: str, mark: str) -> bool:
    """Know this browser from now on, if it has a `mark`. Return whether it is new."""
    return bool(mark) and await _NOTE.row(user=user_id, mark=keys.digest(mark).hex()) is not None

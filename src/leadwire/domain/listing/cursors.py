"""Cursors of /v1: where a walk through a list has come to. Sealed, so that nobody else can make or read one.

The request that uses one is the request it came from, but for `limit`: a cursor names its workspace, its list, the
order and the filters.
"""

import base64
import hashlib
from datetime import timedelta
from typing import Final

import msgspec
from msgspec import Struct

from leadwire.infrastructure import clock, secret_box
from leadwire.infrastructure.errors import FieldError, InvalidParameter, OperatorError

FIRST: Final = "first"
"""The cursor of the first page."""
_PURPOSE: Final = "cursor"  # nothing else that is sealed is taken for a cursor
_LASTS: Final = timedelta(hours=24)


class Place(Struct, array_like=True, frozen=True):
    """The place after a page, and what the pages that follow say of the list."""

    after: str
    """The key of the page's last row."""
    page: int
    """The number of the page that follows."""
    total: int
    """How many matched when the walk began."""


class _Cursor(Struct, array_like=True, frozen=True):
    purpose: str
    about: bytes
    given_at: float
    place: Place


def sealed(place: Place, about: object) -> str:
    """Return the cursor of a place. `about` is whatever the list is made from, with a repr that says it."""
    cursor = _Cursor(_PURPOSE, _digest(about), clock.now().timestamp(), place)
    return base64.urlsafe_b64encode(secret_box.get().seal(msgspec.json.encode(cursor).decode())).decode().rstrip("=")


def opened(text: str, about: object) -> Place:
    """Return the place of a cursor. Raise InvalidParameter for one that is changed, of another list, or too old."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        cursor = msgspec.json.decode(secret_box.get().open_once(raw), type=_Cursor)
        ours = cursor.purpose == _PURPOSE
    except (ValueError, OperatorError, msgspec.MsgspecError):
        ours = False
    if not ours:
        raise refused("cursor", "invalid_cursor", "This is no cursor of ours. Begin again with `cursor=first`.")
    if cursor.about != _digest(about):
        raise refused(
            "cursor", "foreign_cursor", "This cursor is of another list, or of other filters or another `sort`."
        )
    if clock.now().timestamp() - cursor.given_at > _LASTS.total_seconds():
        raise refused("cursor", "expired_cursor", "This cursor is older than 24 hours. Begin again.")
    return cursor.place


def refused(parameter: str, code: str, message: str) -> InvalidParameter:
    """Return the error of one parameter."""
    return InvalidParameter(f"Cannot use: {parameter}.", errors=(FieldError(code, message, parameter=parameter),))


def _digest(about: object) -> bytes:
    return hashlib.sha256(repr(about).encode()).digest()[:16]

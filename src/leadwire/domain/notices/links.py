"""The links in mails by which people stop them: they work without a sign-in, and nobody else can make one."""

import base64
from typing import Final

from leadwire.domain.notices.schema import OFFERS, Kind
from leadwire.infrastructure import secret_box
from leadwire.infrastructure.errors import NotFound, OperatorError

_PURPOSE: Final = "unsubscribe"  # nothing else that is sealed is taken for a link


def path(workspace: str, user_id: str, kind: Kind) -> str:
    """Where somebody stops one kind of notice."""
    sealed = secret_box.get().seal(f"{_PURPOSE} {workspace} {user_id} {kind}")
    return f"/unsubscribe/{base64.urlsafe_b64encode(sealed).decode().rstrip('=')}"


def opened(token: str) -> tuple[str, str, Kind]:
    """The workspace, the person and the kind that a link is about. Raise NotFound for one that we did not make."""
    try:
        sealed = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        purpose, workspace, user_id, kind = secret_box.get().open(sealed).split(" ")
    except (ValueError, OperatorError):
        purpose = kind = ""
    for offer in OFFERS:
        if (purpose, kind) == (_PURPOSE, offer):
            return workspace, user_id, offer
    raise NotFound("This link is not complete, or too old. Choose your mails under Your account.")

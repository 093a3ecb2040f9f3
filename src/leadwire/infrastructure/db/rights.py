"""The rights of the role that the service connects as, where it is not the owner of the tables.

It makes and drops nothing but days, by functions that run as the owner. To the audit log it adds, and chains what is
there (`number`, `hash`); what is past retention it may delete. Nor may it delete a workspace, with which a log goes.
"""

from pathlib import Path
from typing import Final

from leadwire.infrastructure.db import steps

_GRANT: Final = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")


async def grant(role: str, days: int) -> None:
    """Let a role serve, and keep entries of the audit log from it for so many days. Raise OperatorError where there is
    no such role, or it has rights from elsewhere.
    """
    await steps.alone(_GRANT.format(role=role, days=days))

"""Recovery codes: ten codes that replace the second factor once each, for who has lost it."""

import base64
import secrets
from typing import Final

from leadwire.domain.accounts import keys
from leadwire.domain.accounts.table import RecoveryCode
from leadwire.infrastructure import db, ids
from leadwire.infrastructure.db.statements import insert, param, statement

COUNT: Final = 10
LENGTH: Final = 16
"""Characters of a code, dashes apart: 80 random bits, so a plain SHA-256 is enough."""

_OF_USER: Final = RecoveryCode.user_id == param("user")
_ADD: Final = insert(*RecoveryCode.all_columns())
_USE: Final = statement(
    RecoveryCode.delete().where(_OF_USER, RecoveryCode.hash == param("hash")).returning(RecoveryCode.hash)
)
_COUNT: Final = statement(RecoveryCode.count().where(_OF_USER))
_REMOVE: Final = statement(RecoveryCode.delete().where(_OF_USER))


async def make(user_id: str) -> list[str]:
    """Replace a user's codes. Return the new ones, which are stored nowhere."""
    codes = [base64.b32encode(secrets.token_bytes(10)).decode().lower() for _ in range(COUNT)]
    async with db.transaction():
        await remove(user_id)
        for code in codes:
            await _ADD.rows(id=ids.new("rec"), user_id=user_id, hash=keys.digest(code))
    return ["-".join(code[at : at + 4] for at in range(0, LENGTH, 4)) for code in codes]


async def use(user_id: str, code: str) -> bool:
    """Use a code up. Return whether it was one of the user's; upper case, dashes and spaces do not matter."""
    plain = "".join(code.split()).replace("-", "").lower()
    return await _USE.row(user=user_id, hash=keys.digest(plain)) is not None


async def left(user_id: str) -> int:
    """How many of a user's codes are not used."""
    return int(await _COUNT.value(user=user_id))


async def remove(user_id: str) -> None:
    """Remove a user's codes."""
    await _REMOVE.rows(user=user_id)

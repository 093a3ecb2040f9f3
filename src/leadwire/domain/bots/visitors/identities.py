"""Who a visitor is, where their website's server vouches for it: with an HMAC made of the bot's secret; and
what else the page tells of them.
"""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from leadwire.domain.bots import reads
from leadwire.domain.bots.table import Bot
from leadwire.domain.bots.visitors.variables import PAGE, VERIFIED
from leadwire.domain.leads import identity
from leadwire.infrastructure import clock, secret_box
from leadwire.infrastructure.errors import Forbidden

_WHO: Final = ("email", "user_id")  # tell one person from another; no attribute says who somebody is
_LONGEST: Final = 86_400  # seconds from now until a signature may expire


class Vouched(Struct, frozen=True, kw_only=True):
    """A person, and the signature of the website's server: hexadecimal HMAC-SHA256 of `signed`."""

    email: str = ""
    user_id: str = ""
    name: str = ""
    expires: int
    """Seconds since 1970."""
    signature: str

    def signed(self, bot_id: str) -> str:
        """The text that is signed: five lines, of which no one holds a line break."""
        return "\n".join((bot_id, str(self.expires), self.email, self.user_id, self.name))


async def told(
    bot_id: str, attributes: Mapping[str, str], claims: Vouched | None, before: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """What the page tells, as variables: attributes, and who the visitor is if their website vouches for it.

    `before` holds the variables of the conversation. Raise Forbidden when an identity is not proven, or another
    than the conversation's.
    """
    said = {f"{PAGE}{name}": value for name, value in attributes.items() if name not in _WHO}
    person = await verified(bot_id, claims) if claims else {}
    if any((before or {}).get(f"{VERIFIED}{key}", now) != now for key in _WHO if (now := person.get(VERIFIED + key))):
        raise _refused("The conversation is another person's.")
    return said | person


async def verified(bot_id: str, claims: Vouched) -> dict[str, str]:
    """The variables that tell who the visitor is. Raise Forbidden when that is not proven."""
    sealed = await reads.identity_secret(bot_id)
    if sealed is None:
        raise _refused("The bot has no secret to sign with.")
    secret = secret_box.get().open(sealed, secret_box.place(Bot.identity_secret, bot_id))
    right = hmac.new(secret.encode(), claims.signed(bot_id).encode(), hashlib.sha256).hexdigest()
    if not hmac.compare_digest(right.encode(), claims.signature.encode()):
        raise _refused("The signature was not made of these values with the bot's secret.")
    if not 0 < claims.expires - clock.now().timestamp() <= _LONGEST:
        raise _refused("The signature has expired, or does so in more than a day.")
    try:
        email = claims.email and identity.email(claims.email)
    except ValueError as error:
        raise _refused(str(error)) from error
    person = {"email": email, "user_id": claims.user_id, "name": claims.name}
    if not (email or claims.user_id):
        raise _refused("A person needs an e-mail address or an id.")
    return {f"{VERIFIED}{name}": value for name, value in person.items() if value}


def _refused(why: str) -> Forbidden:
    return Forbidden(why, code="identity_refused")

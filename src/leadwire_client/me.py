"""`lw.me`."""

from typing import Final

from leadwire_client.call import Call, single
from leadwire_client.connection import C, Resource, method
from leadwire_client.types import Me

_ME: Final = single(Me)


class OwnKey(Resource[C]):
    """`lw.me`."""

    @method
    def get(self) -> Call[Me]:
        """The API key that is used: its name, scopes, workspace and limits."""
        return Call(method="GET", path="/v1/me", read=_ME)

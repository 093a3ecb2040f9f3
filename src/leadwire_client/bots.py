"""`lw.bots`, and `lw.me`."""

from typing import Final

from leadwire_client.call import Call, page, params, path_to, single
from leadwire_client.connection import C, Resource, method
from leadwire_client.types import Bot, Me, Page

_PAGE: Final = page(Bot)
_SINGLE: Final = single(Bot)
_ME: Final = single(Me)


class Bots(Resource[C]):
    """`lw.bots`."""

    @method
    def page(self, *, limit: int | None = None, page: int | None = None) -> Call[Page[Bot]]:
        """One page of bots, oldest first. `limit` is 1 to 100 (20 by default). Raises Invalid."""
        return Call(method="GET", path="/v1/bots", params=params(limit=limit, page=page), read=_PAGE)

    @method
    def get(self, bot_id: str) -> Call[Bot]:
        """One bot. Raises NotFound."""
        return Call(method="GET", path=path_to("bots", bot_id), read=_SINGLE)


class OwnKey(Resource[C]):
    """`lw.me`."""

    @method
    def get(self) -> Call[Me]:
        """The API key that is used: its name, scopes, workspace and limits."""
        return Call(method="GET", path="/v1/me", read=_ME)

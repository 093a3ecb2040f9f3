"""The API key that a request is made with."""

from litestar import Router

from leadwire.domain.accounts import reads
from leadwire.domain.accounts.schema import Me
from leadwire.interfaces.http.responses import Single
from leadwire.interfaces.v1.operations import Caller, get


@get("/", scope="")
async def show_me(caller: Caller) -> Single[Me]:
    """Retrieve the key that you use.

    Its name, its scopes, its workspace and its limits. Any key may ask.
    """
    return Single(await reads.me(caller))


router = Router("/me", route_handlers=[show_me])

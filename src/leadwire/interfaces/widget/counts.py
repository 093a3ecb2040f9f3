"""How often the widget is shown and opened: counted without cookies, and without knowing by whom."""

import asyncio
import re
from typing import Any, Final

from litestar import Request, post
from litestar.params import FromPath

from leadwire.domain.bots import reads
from leadwire.domain.bots.changes import counts
from leadwire.infrastructure.errors import Invalid
from leadwire.infrastructure.rate_limit import RateLimit
from leadwire.interfaces.http import body
from leadwire.interfaces.http.client_network import network
from leadwire.interfaces.http.middleware import set_workspace
from leadwire.interfaces.http.responses import JSONResponse

_COUNTS: Final = RateLimit("counts", 120, shared=False)  # a minute, per network and bot
_LARGEST: Final = 64  # bytes
# As `navigator.sendBeacon` sends a text; or as JSON.
_BODY: Final = re.compile(rb'\s*(?:\{\s*"kind"\s*:)?\s*"?(shown|opened)"?\s*\}?\s*')
_KINDS: Final[dict[bytes, counts.Kind]] = {b"shown": "shown", b"opened": "opened"}


@post("/bots/{bot_id:str}/counts", status_code=202)
async def count(request: Request[Any, Any, Any], bot_id: FromPath[str]) -> JSONResponse[None]:
    """Count that a page has shown the widget (`shown`), or that a visitor has opened it (`opened`). The body is that
    word, as `text/plain`. Written within seconds.
    """
    bot = await reads.live(bot_id)
    set_workspace(bot.workspace)
    _COUNTS.take(f"{network(request.scope)} {bot.id}", asyncio.get_running_loop().time())
    found = _BODY.fullmatch(await body.read(request, _LARGEST))
    if found is None:
        raise Invalid("The body is `shown` or `opened`.")
    counts.count(bot.id, _KINDS[found[1]])
    return JSONResponse(None, status_code=202)

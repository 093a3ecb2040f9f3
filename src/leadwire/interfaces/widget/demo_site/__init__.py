"""A website that is somebody's, with the widget on it: `/demo`, only under `leadwire up`."""

from pathlib import Path
from typing import Final

from litestar import Response

from leadwire.infrastructure import settings
from leadwire.interfaces.http.routes import get

_FOLDER: Final = Path(__file__).parent
_POLICY: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "Referrer-Policy": "same-origin",
}


@get("/demo")
async def page() -> Response[str]:
    """A roaster's website, with the demo's bot."""
    text = (_FOLDER / "site.html").read_text().replace("{bot}", settings.get().demo_bot)
    return Response(text, media_type="text/html", headers=_POLICY)


@get("/demo/site.css")
async def style() -> Response[str]:
    """What it looks like."""
    return Response((_FOLDER / "site.css").read_text(), media_type="text/css")

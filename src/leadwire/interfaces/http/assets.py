"""The static files: style sheets, scripts, a mark, from a folder `static` of whichever interface has pages. Their
addresses carry a digest, so browsers may keep them.

They are sent compressed. Pages are not: with a secret and something that others chose in it, a page's compressed size
tells the secret (BREACH).
"""

import functools
import gzip
import hashlib
from pathlib import Path
from typing import Any, Final

from litestar import Request, Response

from leadwire.infrastructure.errors import NotFound
from leadwire.interfaces.http.requests import takes_gzip
from leadwire.interfaces.http.routes import get

PREFIX: Final = "/assets/"
_INTERFACES: Final = Path(__file__).parents[1]
_KINDS: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@functools.cache
def _files() -> dict[str, tuple[bytes, str, str, bytes]]:
    """Name -> content, media type, digest, content compressed."""
    files = {}
    for path in sorted(_INTERFACES.glob("*/static/*")):
        if kind := _KINDS.get(path.suffix):
            content = path.read_bytes()
            digest = hashlib.sha256(content).hexdigest()[:12]
            files[path.name] = (content, kind, digest, gzip.compress(content))
    return files


def address(name: str) -> str:
    """Where a page finds a static file."""
    return f"{PREFIX}{name}?{_files()[name][2]}"


@get(PREFIX + "{name:str}")
async def asset(request: Request[Any, Any, Any]) -> Response[bytes]:
    """A static file."""
    if (file := _files().get(request.path_params["name"])) is None:
        raise NotFound("There is no such file.")
    content, kind, digest, small = file
    kept = "public, max-age=31536000, immutable" if request.scope["query_string"] == digest.encode() else "no-cache"
    headers = {"Cache-Control": kept, "Vary": "Accept-Encoding"}
    if takes_gzip(request.scope):
        content, headers["Content-Encoding"] = small, "gzip"
    return Response(content, media_type=kind, headers=headers)

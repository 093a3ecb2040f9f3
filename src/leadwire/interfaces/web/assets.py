"""The static files: a style sheet, a script, a mark. Their addresses carry a digest, so browsers may keep them."""

import functools
import hashlib
from pathlib import Path
from typing import Any, Final

from litestar import Request, Response

from leadwire.infrastructure.errors import NotFound
from leadwire.interfaces.http.routes import get

PREFIX: Final = "/assets/"
_FOLDER: Final = Path(__file__).with_name("static")
_KINDS: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@functools.cache
def _files() -> dict[str, tuple[bytes, str, str]]:
    """Name -> content, media type, digest."""
    found = {}
    for path in sorted(_FOLDER.iterdir()):
        if kind := _KINDS.get(path.suffix):
            content = path.read_bytes()
            found[path.name] = (content, kind, hashlib.sha256(content).hexdigest()[:12])
    return found


def address(name: str) -> str:
    """Where a page finds a static file."""
    return f"{PREFIX}{name}?{_files()[name][2]}"


@get(PREFIX + "{name:str}")
async def asset(request: Request[Any, Any, Any]) -> Response[bytes]:
    """A static file."""
    if (found := _files().get(request.path_params["name"])) is None:
        raise NotFound("There is no such file.")
    content, kind, digest = found
    kept = "public, max-age=31536000, immutable" if request.scope["query_string"] == digest.encode() else "no-cache"
    return Response(content, media_type=kind, headers={"Cache-Control": kept})

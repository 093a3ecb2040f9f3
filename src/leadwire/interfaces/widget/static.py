"""The widget's script, which is served as it is."""

import functools
import gzip
import hashlib
import re
from pathlib import Path
from typing import Any, Final

import msgspec
from litestar import Request, Response

from leadwire.interfaces.http.requests import takes_gzip
from leadwire.interfaces.http.routes import get

_DIRECTORY: Final = Path(__file__).with_name("javascript")
# The parts share one scope, in this order; there is nothing to build.
_PARTS: Final = ("words", "kept", "conversation", "elements", "extras", "colors", "look", "calls", "panel", "start")
_HEADERS: Final = {
    "Cache-Control": "public, max-age=300",
    "Cross-Origin-Resource-Policy": "cross-origin",  # also for pages that let in only what says so
    "Vary": "Accept-Encoding",
}


@functools.cache
def source() -> bytes:
    """The script's text."""
    style = re.sub(r"/\*.*?\*/", "", (_DIRECTORY / "look.css").read_text(encoding="utf-8"), flags=re.DOTALL)
    look = msgspec.json.encode("".join(re.findall(r"(\S.*\n)", style))).decode()
    parts = "".join((_DIRECTORY / f"{part}.js").read_text(encoding="utf-8") for part in _PARTS)
    parts = "".join(re.findall(r"^ *((?!//)\S.*\n)", parts, re.MULTILINE))  # no indentation, no lines of comment
    parts = re.sub(r"(?<=[;{},)\]]) // .*$", "", parts, flags=re.MULTILINE)  # nor comments behind code
    return f'(() => {{\n"use strict";\nconst LOOK = {look};\n{parts}}})();\n'.encode()


@functools.cache
def _encoded(*, zipped: bool) -> tuple[bytes, dict[str, str]]:
    """The body as sent and its headers: compressed once, not for every visitor."""
    body = gzip.compress(source(), 9, mtime=0) if zipped else source()
    headers = {**_HEADERS, "ETag": f'"{hashlib.sha256(body).hexdigest()[:24]}"'}
    return body, (headers | {"Content-Encoding": "gzip"} if zipped else headers)


@get("/widget/v1.js")
async def script(request: Request[Any, Any, Any]) -> Response[bytes]:
    """The script that a website embeds. Cacheable: the same for everybody, on every website."""
    body, headers = _encoded(zipped=takes_gzip(request.scope))
    content, status = (b"", 304) if headers["ETag"] in request.headers.get("if-none-match", "") else (body, 200)
    return Response(content, status_code=status, headers=headers, media_type="text/javascript")

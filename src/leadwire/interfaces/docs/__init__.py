"""/docs: the documentation of this very version, offline. Markdown pages, and pages made from the OpenAPI document.

Each Markdown page is also there as such, under its name with `.md`; `/llms.txt` lists them (https://llmstxt.org).
"""

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import jinja2
import msgspec
from litestar import Litestar, Request, Response
from litestar.handlers import HTTPRouteHandler
from litestar.response import Redirect
from markupsafe import Markup, escape

from leadwire import __version__
from leadwire.infrastructure import settings
from leadwire.infrastructure.errors import NotFound
from leadwire.interfaces.docs import clients, markdown, reference
from leadwire.interfaces.docs.markdown import PREFIX, Page
from leadwire.interfaces.http import assets
from leadwire.interfaces.http.routes import get

_LISTED: Final = "llms.txt"
_EXAMPLE: Final = "URL=http://localhost:8000"
_HERE: Final = Path(__file__).parent
_POLICY: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "Referrer-Policy": "no-referrer",
}


def build(document: Mapping[str, Any]) -> dict[str, tuple[bytes, str]]:
    """Return every file by its name, as its bytes and its media type. A page that is made from the OpenAPI document has
    a template of its name.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=jinja2.select_autoescape(),
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= reference.FILTERS
    environment.globals |= {"asset": assets.address, "version": __version__}
    contents = markdown.contents()
    described = reference.described(document)
    guides = {
        name: Page(name, sections[0].heading, Markup(), sections)
        for name, sections in reference.sections(described).items()
    }
    pages = guides | {page.name: page for page in markdown.pages(contents)}
    groups = [(title, [pages[name] for name in names]) for title, names in contents.groups]
    files = {f"{name}.md": (_installable(page.source), "text/markdown") for name, page in pages.items() if page.source}
    for name, page in pages.items():
        template = environment.get_template(f"{name}.html" if name in guides else "layout.html")
        files[name] = _installable(template.render(described, page=page, groups=groups)), "text/html"
    index = [
        (name, section.anchor, page.title, section.heading, section.text)
        for name, page in pages.items()
        for section in page.sections
    ]
    files["search.json"] = msgspec.json.encode(index), "application/json"
    listed = environment.get_template("llms.txt").render(groups=groups, url=settings.get().public_url)
    return files | {_LISTED: (listed.encode(), "text/plain")}


def _installable(text: str) -> bytes:
    """A page whose lines that install a client name this version, and where it is, as does its first step."""
    address = escape(settings.get().public_url)
    text = text.replace("client-VERSION", f"client-{__version__}")
    if address:
        text = text.replace(f"$URL{clients.PREFIX}", f"{address}{clients.PREFIX}").replace(_EXAMPLE, f"URL={address}")
    return text.encode()


def routes(document: Callable[[Litestar], Mapping[str, Any]]) -> list[HTTPRouteHandler]:
    """Return the handlers of one application. The pages, and each file of a client, are made once, when asked for."""

    @functools.cache
    def made(app: Litestar) -> dict[str, tuple[bytes, str]]:
        return build(document(app))

    @functools.cache
    def tarball(app: Litestar) -> bytes:
        return clients.tarball(document(app))

    @get("/docs")
    async def start() -> Redirect:
        """The first page."""
        return Redirect(f"{PREFIX}start")

    @get([PREFIX + "{name:str}", f"/{_LISTED}"])
    async def page(request: Request[Any, Any, Any]) -> Response[bytes]:
        """A page, its Markdown, what the search looks in, or the list of all pages, for programs that read them."""
        files = made(request.app)
        if (name := request.path_params.get("name", _LISTED)) not in files:
            raise NotFound("The documentation has no such page.")
        content, kind = files[name]
        return Response(content, media_type=kind, headers=_POLICY if kind == "text/html" else None)

    @get(clients.PREFIX + "{name:str}")
    async def package(request: Request[Any, Any, Any]) -> Response[bytes]:
        """The file of a client."""
        headers = {"Cache-Control": "no-cache"}  # builds of one version differ
        if (name := request.path_params["name"]) == clients.WHEEL:
            return Response(clients.wheel(), media_type="application/zip", headers=headers)
        if name == clients.TARBALL:
            return Response(tarball(request.app), media_type="application/gzip", headers=headers)
        raise NotFound("There is no such file.")

    return [start, page, package]

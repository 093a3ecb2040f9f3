"""/docs: the documentation of this very version, offline. Markdown pages, and pages made from the OpenAPI document."""

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
from msgspec import Struct

from leadwire import __version__
from leadwire.infrastructure import settings
from leadwire.infrastructure.errors import NotFound
from leadwire.interfaces.docs import clients, markdown, reference
from leadwire.interfaces.docs.markdown import PREFIX, Page
from leadwire.interfaces.http import assets
from leadwire.interfaces.http.routes import get

_HERE: Final = Path(__file__).parent
_POLICY: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "Referrer-Policy": "no-referrer",
}


class Site(Struct, frozen=True):
    """All of it: each page by its name, and what the search looks in."""

    pages: dict[str, bytes]
    index: bytes


def build(document: Mapping[str, Any]) -> Site:
    """Make every page. One that is made from the OpenAPI document has a template of its name."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= reference.FILTERS
    environment.globals |= {"asset": assets.address, "version": __version__}
    contents = markdown.contents()
    described = reference.described(document)
    made = {
        name: Page(name, sections[0].heading, Markup(), sections)
        for name, sections in reference.sections(described).items()
    }
    found = made | {page.name: page for page in markdown.pages(contents)}
    groups = [(title, [found[name] for name in names]) for title, names in contents.groups]
    pages = {
        name: _installable(
            environment.get_template(f"{name}.html" if name in made else "layout.html").render(
                described, page=page, groups=groups
            )
        ).encode()
        for name, page in found.items()
    }
    index = [
        (name, one.anchor, page.title, one.heading, one.text) for name, page in found.items() for one in page.sections
    ]
    return Site(pages, msgspec.json.encode(index))


def _installable(html: str) -> str:
    """A page whose lines that install a client name this version, and where it is."""
    address = settings.get().public_url
    html = html.replace("client-VERSION", f"client-{__version__}")
    return html.replace(f"$URL{clients.PREFIX}", f"{escape(address)}{clients.PREFIX}") if address else html


def routes(document: Callable[[Litestar], Mapping[str, Any]]) -> list[HTTPRouteHandler]:
    """Return the handlers of one application. The pages are made once, on the first request."""

    @functools.cache
    def made(app: Litestar) -> Site:
        return build(document(app))

    @get("/docs")
    async def start() -> Redirect:
        """The first page."""
        return Redirect(f"{PREFIX}start")

    @get(PREFIX + "{name:str}")
    async def page(request: Request[Any, Any, Any]) -> Response[bytes]:
        """A page, or what the search looks in."""
        name, site = request.path_params["name"], made(request.app)
        if name == "search.json":
            return Response(site.index, media_type="application/json")
        if name not in site.pages:
            raise NotFound("The documentation has no such page.")
        return Response(site.pages[name], media_type="text/html", headers=_POLICY)

    return [start, page, clients.route(document)]

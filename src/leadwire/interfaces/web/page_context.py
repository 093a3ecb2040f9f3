"""One request to the web area: who it is, what they filled in, and the answers a screen can give."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlencode

import msgspec
from litestar import Request, Response
from litestar.response import Stream

from leadwire.domain.accounts.changes import sessions
from leadwire.domain.accounts.schema import Person, has_role
from leadwire.infrastructure import settings
from leadwire.infrastructure.errors import DomainError, NotFound
from leadwire.interfaces.http import client_network, requests
from leadwire.interfaces.web import policy, rendering
from leadwire.interfaces.web.forms import Form, parsed

Q = TypeVar("Q", bound=msgspec.Struct)

HTML: Final = "text/html"


class PageContext(msgspec.Struct):
    """A request by a signed-in person; `refusal` is set when a form is shown again with what was wrong."""

    request: "Request[Any, Any, Any]"
    me: Person
    form: Form
    refusal: DomainError | None = None

    @property
    def workspace(self) -> str:
        """Whose data this person may touch."""
        return self.me.workspace

    @property
    def query(self) -> Form:
        """The query string, read like a form."""
        return parsed(self.request.scope["query_string"])

    def asked(self, model: type[Q]) -> Q:
        """The query string as a filter; a field that was left empty does not count. Raises InvalidParameter."""
        pairs = requests.pairs_of(self.request.scope["query_string"])
        return requests.parse([(name, value.strip()) for name, value in pairs if value.strip()], model)

    def link(self, path: str = "", **changes: str) -> str:
        """`path`, or this page, with the query string it was asked with, but for `changes`; an empty one goes."""
        asked = {name: value.strip() for name, value in requests.pairs_of(self.request.scope["query_string"])}
        kept = urlencode({name: value for name, value in {**asked, **changes}.items() if value})
        return (path or self.request.scope["path"]) + (f"?{kept}" if kept else "")

    def part(self, name: str) -> str:
        """A part of the path. Raises NotFound where it holds NUL, which nothing is called and PostgreSQL refuses."""
        found: str = self.request.path_params[name]
        if "\0" in found:
            raise NotFound("There is nothing here.")
        return found

    def may(self, role: str) -> bool:
        """Whether this person reaches `role`."""
        return has_role(self.me.role, role)

    async def render(self, template: str, status: int = 200, **values: Any) -> Response[str]:
        """The screen, rendered in a thread: a large one takes long. After a refusal it has its status and headers."""
        if self.me.flash:
            await sessions.set_flash(self.me.session_id, None)
        status = self.refusal.status if self.refusal else status
        page = await asyncio.to_thread(show, self.request, template, {"context": self, **values}, status)
        page.headers.update(self.refusal.headers if self.refusal else {})
        return page

    def download(self, name: str, kind: str, chunks: AsyncIterator[bytes]) -> Stream:
        """A file that is made while it is sent. If that fails, the browser sees the answer cut off, and says so."""
        disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Stream(chunks, media_type=kind, headers={**policy.HEADERS, **disposition})

    async def back(self, path: str, word: str = "") -> Response[None]:
        """On to another page, which says `word` once."""
        if word:
            await sessions.set_flash(self.me.session_id, word)
        return go(path)


def show(request: "Request[Any, Any, Any]", template: str, values: dict[str, Any], status: int = 200) -> Response[str]:
    """A page for anybody: signed in or not."""
    known = {"path": request.scope["path"], "context": None, "public_url": public_url(request), **values}
    return Response(
        rendering.render(template, known), media_type=HTML, status_code=status, headers=dict(policy.HEADERS)
    )


def go(path: str) -> Response[None]:
    """On to another page, with GET."""
    return Response(None, status_code=303, headers={"Location": quote(path, safe="/?&=#%:+,")})


def public_url(request: "Request[Any, Any, Any]") -> str:
    """Where people reach us, without a trailing slash."""
    return settings.get().public_url or f"{request.scope['scheme']}://{request.headers.get('host', 'localhost')}"


def encrypted(request: "Request[Any, Any, Any]") -> bool:
    """Whether people reach us by https."""
    return public_url(request).startswith("https:")


def address(request: "Request[Any, Any, Any]") -> str:
    """Where the request comes from, for the throttle and the audit log."""
    return client_network.network(request.scope)

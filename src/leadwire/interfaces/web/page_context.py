"""One request to the web area: who sent it, what was filled in, and the responses a screen can return."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlencode

import msgspec
from litestar import Request, Response
from litestar.response import Stream

from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.audit.changes import Entry
from leadwire.domain.accounts.schema import Person, has_role
from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.infrastructure.errors import DomainError, NotFound
from leadwire.interfaces.http import requests
from leadwire.interfaces.web import rendering, security
from leadwire.interfaces.web.forms import Form, parsed

Q = TypeVar("Q", bound=msgspec.Struct)

PageResponse = Response[Any]
HTML: Final = "text/html"
_NO_FILTERS: Final = {"after", "sort", "longest"}


class PageContext(msgspec.Struct):
    """A request by a signed-in person."""

    request: "Request[Any, Any, Any]"
    me: Person
    form: Form
    refusal: DomainError | None = None
    """Set when a form is shown again: what was wrong."""
    entry: Entry = msgspec.field(default_factory=lambda: Entry(""))
    """What an audited action leaves in the audit log."""
    read: Entry | None = None
    """What the audit log is to say about the page that is rendered."""
    flash: str = ""
    """What the next page says, once the action has ended well."""

    @property
    def workspace(self) -> str:
        """Whose data this person may touch."""
        return self.me.workspace

    @property
    def query(self) -> Form:
        """The query string, read like a form."""
        return parsed(self.request.scope["query_string"])

    def query_as(self, model: type[Q]) -> Q:
        """Return the query string as a `model`, without fields that were left empty. Raise InvalidParameter.

        What it does not name is ignored: links in mails have such parameters added.
        """
        pairs = [(name, value.strip()) for name, value in requests.pairs_of(self.request.scope["query_string"])]
        names = model.__struct_encode_fields__
        return requests.parse([(name, value) for name, value in pairs if value and name in names], model)

    def link(self, path: str = "", **changes: str) -> str:
        """Return `path`, or this page, with the present query string and `changes`; an empty value removes a field."""
        present = {name: value.strip() for name, value in requests.pairs_of(self.request.scope["query_string"])}
        kept = urlencode({name: value for name, value in {**present, **changes}.items() if value})
        return (path or self.request.scope["path"]) + (f"?{kept}" if kept else "")

    def path_param(self, name: str) -> str:
        """Return a parameter of the path. Raise NotFound for one with NUL, which PostgreSQL refuses."""
        value: str = self.request.path_params[name]
        if "\0" in value:
            raise NotFound("There is nothing here.")
        return value

    @property
    def subject(self) -> str:
        """Return the first parameter of the path: what the request is about."""
        return next(map(self.path_param, self.request.path_params), "")

    def may(self, role: str) -> bool:
        """Whether this person reaches `role`."""
        return has_role(self.me.role, role)

    def note_read(self, action: str, subject: str = "", filters: msgspec.Struct | None = None) -> None:
        """Let `render` note in the audit log that this person is shown personal data: of `subject`, or a list.

        Of a list, the names of its `filters` that are set are noted: what was searched for, or stands in the address
        besides, may be somebody's.
        """
        blank = type(filters)() if filters and not subject else None
        names = sorted(set(blank.__struct_fields__) - _NO_FILTERS) if blank else []
        changed = [name for name in names if getattr(filters, name) != getattr(blank, name)]
        self.read = Entry(action, subject, f"filters: {', '.join(changed)}" if changed else "")

    @asynccontextmanager
    async def change(self, action: str, subject: str = "") -> AsyncIterator[None]:
        """A transaction that leaves an entry in the audit log."""
        async with audit.transaction(self.me, action, subject) as self.entry:
            yield

    async def note_edit(self, action: str, subject: str) -> None:
        """Note in the audit log that this person edits what saves itself; again only after a quarter of an hour."""
        await audit.record_read(self.me, Entry(action, subject))

    async def render(self, template: str, status: int = 200, **values: Any) -> Response[str]:
        """Render the screen, in a thread, as a large one takes long. After a refusal it has its status and headers."""
        if self.me.flash:
            await sessions.update(self.me.session_id, flash=None)
        everything = {"context": self, **values}
        making = asyncio.to_thread(render_page, self.request, template, everything, status, self.refusal)
        noting = audit.record_read(self.me, self.read) if self.read else asyncio.sleep(0)
        page, _ = await asyncio.gather(making, noting)  # what cannot be noted is not shown
        return page

    def download(self, name: str, kind: str, chunks: AsyncIterator[bytes], *, inline: bool = False) -> Stream:
        """Send a file while it is made. If that fails, the response ends early and the browser reports it.

        It is saved, or with `inline` shown by the browser.
        """
        disposition = {"Content-Disposition": f'{"inline" if inline else "attachment"}; filename="{name}"'}
        while_here = sessions.while_active(self.me, chunks)
        return Stream(while_here, media_type=kind, headers={**security.HEADERS, **disposition})

    def redirect(self, path: str, flash: str = "") -> Response[None]:
        """Redirect to another page, which shows `flash` once."""
        self.flash = flash
        return redirect(path)


def render_page(
    request: "Request[Any, Any, Any]",
    template: str,
    values: dict[str, Any],
    status: int = 200,
    refusal: DomainError | None = None,
) -> Response[str]:
    """Render a page for anybody: signed in or not. After a refusal it has its status and headers."""
    page = {"path": request.scope["path"], "context": None, "public_url": security.public_url(request)}
    html = rendering.render(template, {**page, "refusal": refusal, **values})
    headers = {**security.HEADERS, **(refusal.headers if refusal else {})}
    return Response(html, media_type=HTML, status_code=refusal.status if refusal else status, headers=headers)


def redirect(path: str) -> Response[None]:
    """Redirect to another page, which the browser requests with GET."""
    return Response(None, status_code=303, headers={"Location": quote(path, safe="/?&=#%:+,")})

"""A browser without a screen: cookies, forms and redirects, straight into the app."""

import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.infrastructure import settings
from tests import asgi

PASSWORD = "four quiet grey horses"


class Browser(httpx.AsyncClient):
    """Fills in forms as a person would: with the token of the page it has open."""

    token = ""
    address = ""  # where it is in the network

    async def open(self, path: str, status: int = 200) -> str:
        """The page at `path`, after redirects."""
        page = await self.get(path, follow_redirects=True)
        assert page.status_code == status, (page.status_code, page.text[-800:])
        self._remember(page)
        return page.text

    async def fill(self, path: str, status: int = 200, **fields: object) -> str:
        """Post a form and follow where it leads. A list is a field sent several times."""
        page = await self.post(path, data={"form_token": self.token, **fields}, follow_redirects=True)
        assert page.status_code == status, (page.status_code, page.text[-800:])
        self._remember(page)
        return page.text

    def _remember(self, page: httpx.Response) -> None:
        if found := re.search(r'name="form_token" value="(\w+)"', page.text):
            self.token = found[1]


def browser() -> Browser:
    transport = asgi.transport()
    it = Browser(transport=transport, base_url="http://test", headers={"Accept": "text/html"})
    it.address = transport.client[0]
    return it


@pytest.fixture
async def stranger(database: None) -> AsyncIterator[Browser]:
    """A browser without a session."""
    async with browser() as it:
        yield it


@asynccontextmanager
async def signed_in(workspace: str, role: str, email: str) -> AsyncIterator[Browser]:
    """A browser of a new user, who has joined without the form: `test_sign_in.py` is of that."""
    link = await team.invite(workspace, email, role)  # type: ignore[arg-type]
    async with browser() as it:
        mark = secrets.token_urlsafe(16)
        comes_from = sessions.Browser(it.address, it.headers["user-agent"], mark)
        session = await team.accept(link, email, PASSWORD, comes_from)
        prefix = "__Host-" if (settings.get().public_url or "").startswith("https:") else ""
        for name, value in (("leadwire", session), ("leadwire-browser", mark)):
            it.cookies.set(f"{prefix}{name}", value, "test.local", "/")
        person = await sessions.person(session, it.address)
        assert person
        it.token = person.form_token
        yield it


@pytest.fixture
async def admin(workspace: str) -> AsyncIterator[Browser]:
    async with signed_in(workspace, "admin", "ada@example.org") as it:
        yield it


@pytest.fixture
async def agent(workspace: str) -> AsyncIterator[Browser]:
    async with signed_in(workspace, "agent", "grace@example.org") as it:
        yield it


@pytest.fixture
async def viewer(workspace: str) -> AsyncIterator[Browser]:
    async with signed_in(workspace, "viewer", "mary@example.org") as it:
        yield it

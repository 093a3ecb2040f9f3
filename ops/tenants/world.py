"""Two workspaces that know nothing of each other, and callers of one of them."""

import itertools
from collections.abc import Callable
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import httpx

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.changes import team
from leadwire.domain.accounts.schema import ROLES, Role
from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.domain.webhooks import receivers
from leadwire.infrastructure import db
from ops.tenants.things import MARK, Things, person

State = dict[tuple[str, str], str]
"""Digests, by table and workspace."""
_callers: Final = itertools.count(2)


def callers(url: str) -> Callable[[], httpx.AsyncClient]:
    """Makes clients of a server. On this machine each has an address of its own, for limits count by address."""

    def client() -> httpx.AsyncClient:
        local = None
        if "//127.0.0.1" in url:
            local = "127.{1}.{2}.{3}".format(*(next(_callers) + 0x030000).to_bytes(4))
        transport = httpx.AsyncHTTPTransport(local_address=local)
        return httpx.AsyncClient(transport=transport, base_url=url, headers={"Accept": "text/html"}, timeout=60)

    return client


class Browser(NamedTuple):
    """A person, signed in."""

    client: httpx.AsyncClient
    form_token: str
    user_id: str


class Answer(NamedTuple):
    """What was answered; nothing of the body of an endless stream."""

    status: int
    text: str
    location: str


async def ask(client: httpx.AsyncClient, method: str, path: str, **sent: Any) -> Answer:
    """Make a request."""
    async with client.stream(method, path, **sent) as answer:
        endless = answer.headers.get("content-type", "").startswith("text/event-stream")
        text = "" if endless else (await answer.aread()).decode(errors="replace")
        return Answer(answer.status_code, text, answer.headers.get("location", ""))


class World:
    """Ours and theirs. Everything is made by the operations that serve customers."""

    def __init__(self, client: Callable[[], httpx.AsyncClient], session_cookie: str = "leadwire") -> None:
        self._client, self._cookie = client, session_cookie
        self._stack = AsyncExitStack()
        self._keys: dict[tuple[str, ...], str] = {}
        self._token = ""
        self._tables: list[str] = []
        self.browsers: dict[str, Browser] = {}
        self.ours: Things
        self.theirs: Things
        self.their_form_token = ""

    async def __aenter__(self) -> Self:
        mine = await accounts.create_workspace("Alpha")
        for role in (*ROLES, "operator"):
            self.browsers[role] = await self._browser(mine, role)
        self.ours = self.fresh(mine)
        other = await accounts.create_workspace(MARK)
        their_admin = await self._browser(other, "admin", MARK)
        self.their_form_token = their_admin.form_token
        self.theirs = Things(other, their_admin.user_id, MARK)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    def fresh(self, workspace: str = "") -> Things:
        """Other things of ours, of which nothing is made yet."""
        return Things(workspace or self.ours.workspace, self.browsers["admin"].user_id, "Alpha")

    async def client(self, **headers: str) -> httpx.AsyncClient:
        """A caller that nobody knows, at an address of its own."""
        client = await self._stack.enter_async_context(self._client())
        client.headers.update(headers)
        return client

    async def key(self, *scopes: str) -> str:
        """The text of a key of ours."""
        if scopes not in self._keys:
            self._keys[scopes] = (await accounts.create_key(self.ours.workspace, "matrix", scopes))[1]
        return self._keys[scopes]

    async def receiver_token(self) -> str:
        """Of an endpoint of ours."""
        if not self._token:
            self._token = await receivers.make_token(self.ours.workspace, await self.ours.id("endpoint_id"))
        return self._token

    async def _browser(self, workspace: str, role: str, mark: str = "Alpha") -> Browser:
        as_role: Role = "admin" if role == "operator" else role  # type: ignore[assignment]
        user_id, token = await person(workspace, as_role, mark)
        if role == "operator":
            await team.set_operator(workspace, user_id, operator=True)
        known = await sessions.person(token, "127.0.0.1")
        assert known is not None
        client = await self.client(cookie=f"{self._cookie}={token}")
        return Browser(client, known.form_token, user_id)

    async def state(self) -> State:
        """A digest of what the two workspaces have stored; without when a key was used last."""
        if not self._tables:
            self._tables = [row[0] for row in await db.rows(_TABLES)]
        query = " UNION ALL ".join(
            f"SELECT '{table}', workspace_id, md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM {table} t"
            f" WHERE workspace_id = ANY($1) GROUP BY workspace_id"
            for table in self._tables
        )
        rows = await db.rows(query, [self.ours.workspace, self.theirs.workspace])
        return {(table, workspace): digest for table, workspace, digest in rows}

    async def holding(self, text: str) -> list[str]:
        """The tables in which a row of ours holds `text`."""
        query = " UNION ALL ".join(
            f"SELECT '{table}' FROM {table} t WHERE workspace_id = $1 AND strpos(t::text, $2) > 0"
            for table in self._tables
        )
        return [row[0] for row in await db.rows(query, self.ours.workspace, text)]


_TABLES: Final = """
SELECT relname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
    AND attname = 'workspace_id' AND relname <> 'api_key' ORDER BY 1"""

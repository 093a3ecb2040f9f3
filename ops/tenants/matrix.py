"""What each route is tried with, and what counts as a hole."""

import itertools
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

import httpx

from leadwire.domain.accounts import keys
from leadwire.domain.accounts.schema import ROLES
from leadwire.infrastructure import ids
from ops.tenants.fields import BEFORE, BODIES, FIELDS, WITHOUT_CONTROL
from ops.tenants.pages import Sent, sent_by
from ops.tenants.routes import ANY_KEY, FROM_ELSEWHERE, Route
from ops.tenants.things import MAKERS, MARK, Things, Unknown
from ops.tenants.world import Answer, Browser, World, ask

_OWN: Final = re.compile(r"req_\w+|\b[0-9a-f]{32,64}\b")
_SITES: Final = ({"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"origin": "https://evil.example"})


class Hole(NamedTuple):
    """Something that was not refused, or could not be tried."""

    route: Route
    tried: str
    why: str


class Matrix:
    """Tries routes in one world; keeps counts and holes."""

    def __init__(self, world: World, routes: Sequence[Route]) -> None:
        self._world, self._routes = world, routes
        self.size, self.open = len(routes), sum(route.guard == "open" for route in routes)
        self.counts: Counter[tuple[str, str]] = Counter()
        """By kind of try and guard."""
        self.holes: list[Hole] = []
        self.untried: list[Hole] = []
        self._sent: set[tuple[str, str, str]] = set()

    async def run(self, kinds: Sequence[str]) -> None:
        """Try every route in each of these ways."""
        for kind, route in itertools.product(kinds, self._routes):
            try:
                await KINDS[kind](self, route)
            except Unknown as unknown:
                self.untried.append(Hole(route, kind, str(unknown)))

    async def strangers(self, route: Route) -> None:
        """Nobody, and who has made up a credential, or has one for something else."""
        if route.guard == "open":
            return
        path, callers = await self._path(route, self._world.ours), await self._strange(route)
        async with self._unchanged(route, "strangers"):
            for name, headers in callers.items():
                client = await self._world.client(**headers)
                sent = {"data": {"form_token": "x"}} if route.is_form else {}
                answer = await ask(client, route.method, path, **sent)
                wanted = (303, "/sign-in") if route.guard == "session" else (401, "")
                good = answer.status == wanted[0] and answer.location.startswith(wanted[1])
                self._note(route, "strangers", good, f"{name}: {answer.status}")

    async def roles(self, route: Route) -> None:
        """Each role below the one that is needed."""
        if route.guard != "session":
            return
        path = await self._path(route, self._world.ours)
        lower = ROLES if route.role == "operator" else ROLES[: ROLES.index(route.role)]
        async with self._unchanged(route, "roles"):
            for role in lower:
                answer = await self._asked(self._world.browsers[role], route, path)
                self._note(route, "roles", answer.status == 403, f"{role}: {answer.status}")

    async def forms(self, route: Route) -> None:
        """A form without this session's token, or from another site."""
        if not route.is_form or route.path in FROM_ELSEWHERE:
            return
        path = await self._path(route, self._world.ours)
        me = self._who(route)
        tokens = {"none": "", "made up": "0" * 64, "a colleague's": self._world.browsers["agent"].form_token,
                  "another workspace's": self._world.their_form_token}  # fmt: skip
        async with self._unchanged(route, "forms"):
            for name, token in tokens.items() if route.guard == "session" else ():
                answer = await self._asked(me._replace(form_token=token), route, path)
                self._note(route, "forms", answer.status == 403, f"form token {name}: {answer.status}")
            for headers in _SITES:
                answer = await self._asked(me, route, path, headers=headers)
                refused = (403, 404) if route.guard == "open" else (403,)  # 404: there is no such form here
                self._note(route, "forms", answer.status in refused, f"{headers}: {answer.status}")

    async def scopes(self, route: Route) -> None:
        """A key with every scope but those that are enough, and one with none."""
        if route.guard != "key" or route.path in ANY_KEY:
            return
        path = await self._path(route, self._world.ours)
        wanted = [route.scope] if route.scope else list(keys.SCOPES)
        others = [one for one in keys.SCOPES if not keys.granted([one]).intersection(wanted)]
        async with self._unchanged(route, "scopes"):
            for scopes in {(), tuple(others)}:
                client = await self._with_key(*scopes)
                answer = await ask(client, route.method, path, **_body(route))
                self._note(route, "scopes", answer.status == 403, f"{scopes}: {answer.status}")

    async def foreign(self, route: Route) -> None:
        """Ids of another workspace in the path, one by one and all together, and in the query."""
        if route.guard == "open":
            return
        ours = self._world.ours if route.method == "GET" else self._world.fresh()
        own = await ours.all(route.path)
        if route.guard == "receiver":
            await self._world.receiver_token()  # it is made once, which changes its endpoint
        names = [name for name in own if name in MAKERS]
        for strange in [(name,) for name in names] + ([tuple(names)] if len(names) > 1 else []):
            theirs = own | {name: await self._world.theirs.id(name) for name in strange}
            nobodys = own | {name: ids.new(theirs[name].partition("_")[0]) for name in strange}
            what = f"their {', '.join(strange)}"
            async with self._unchanged(route, "foreign", but="audit_"):  # a page of ours may be shown with the refusal
                answer = await self._as(ours, route, _filled(route, theirs))
                same = await self._as(ours, route, _filled(route, nobodys))
            self._refused(route, what, answer)
            alike = _told(answer, theirs) == _told(same, nobodys)
            self._note(route, "foreign", alike, f"{what}: answered in another way than what never was")
        for name in route.query:
            async with self._unchanged(route, "foreign"):
                answer = await self._as(
                    ours, route, f"{_filled(route, own)}?{name}={await self._world.theirs.id(name)}"
                )
            self._note(route, "foreign", answer.status < 500 and MARK not in answer.text, f"{name} of the query")
        if names and route.path not in WITHOUT_CONTROL:
            await self._control(route, ours, own)

    async def _control(self, route: Route, ours: Things, own: Mapping[str, str]) -> None:
        """What is ours is found, else the refusals before say nothing."""
        if route.path in BEFORE:
            await BEFORE[route.path](ours)
        answer = await self._as(ours, route, _filled(route, own))
        if answer.status == 404 or (route.method == "GET" and answer.status not in (200, 303, 409)):
            self.untried.append(Hole(route, "foreign", f"our own is refused as well: {answer.status}"))

    async def pages(self, route: Route) -> None:
        """Ids of another workspace in what the forms and links of a page send."""
        if route.guard != "session" or route.method != "GET" or route.role == "operator":
            return  # operators see all workspaces
        await self._world.ours.all(" ".join(f"{{{name}}}" for name in MAKERS))
        kinds = {made: name for name, made in self._world.ours.made.items()}
        me = self._world.browsers["admin"]
        page = await self._asked(me, route, await self._path(route, self._world.ours))
        self._note(route, "pages", MARK not in page.text, "shows what is theirs")
        for sent in sent_by(page.text):
            for place, kind in sent.replaced(kinds):
                name, _ = sent.pairs[place]
                if (sent.method, sent.path, name) not in self._sent:
                    self._sent.add((sent.method, sent.path, name))
                    await self._replaced(route, sent, name, await self._world.theirs.id(kind))

    async def _replaced(self, route: Route, sent: Sent, name: str, theirs: str) -> None:
        me, values = self._world.browsers["admin"], dict(reversed(sent.pairs)) | {name: theirs}
        what = f"their id as {name} of {sent.method} {sent.path}"
        if sent.method == "POST":
            values["form_token"] = me.form_token
        async with self._unchanged(route, "pages", ours=False):
            given = {"data": values} if sent.method == "POST" else {"params": values}
            answer = await ask(me.client, sent.method, sent.path or route.path, **given)
        self._note(route, "pages", answer.status < 500 and MARK not in answer.text, f"{what}: {answer.status}")
        kept = await self._world.holding(theirs)
        self._note(route, "pages", not kept, f"{what} is kept in {', '.join(kept)}")

    def _refused(self, route: Route, what: str, answer: Answer) -> None:
        if answer.status in (400, 409, 422):
            why = f"{what}: {answer.status}: what is sent is refused before the id is looked for: ops/tenants/fields.py"
            self.untried.append(Hole(route, "foreign", why))
            return
        self._note(route, "foreign", answer.status == 404 and MARK not in answer.text, f"{what}: {answer.status}")

    def _who(self, route: Route) -> Browser:
        return self._world.browsers["operator" if route.role == "operator" else "admin"]

    async def _as(self, ours: Things, route: Route, path: str) -> Answer:
        """The request by whoever of ours may make it."""
        if route.guard == "session":
            return await self._asked(self._who(route), route, path)
        if route.guard == "key":
            return await ask(await self._with_key(*keys.SCOPES), route.method, path, **_body(route))
        await ours.id("conversation_id")
        token = ours.token if route.guard == "visitor" else await self._world.receiver_token()
        return await ask(await self._world.client(authorization=f"Bearer {token}"), route.method, path)

    async def _asked(self, who: Browser, route: Route, path: str, **more: Any) -> Answer:
        """The request by a person, with their form."""
        if route.is_form:
            more["data"] = {"form_token": who.form_token, **FIELDS.get(route.path, {})}
        return await ask(who.client, route.method, path, **more)

    async def _with_key(self, *scopes: str) -> httpx.AsyncClient:
        return await self._world.client(authorization=f"Bearer {await self._world.key(*scopes)}")

    async def _strange(self, route: Route) -> dict[str, dict[str, str]]:
        if route.guard == "session":
            return {"nobody": {}, "made-up session": {"cookie": "leadwire=made-up"}}
        key, token = await self._world.key(*keys.SCOPES), await self._world.receiver_token()
        await self._world.ours.id("conversation_id")
        others = {"key": key, "receiver": token, "visitor": self._world.ours.token, "made-up key": keys.new()}
        del others[route.guard]
        return {"nobody": {}} | {name: {"authorization": f"Bearer {one}"} for name, one in others.items()}

    async def _path(self, route: Route, of: Things) -> str:
        return _filled(route, await of.all(route.path))

    def _note(self, route: Route, kind: str, good: bool, why: str) -> None:
        self.counts[kind, route.guard] += 1
        if not good:
            self.holes.append(Hole(route, kind, why))

    @asynccontextmanager
    async def _unchanged(self, route: Route, kind: str, *, ours: bool = True, but: str = "-") -> AsyncIterator[None]:
        """What is stored of both workspaces is after the block as it was before; `but` tables of ours that begin so."""
        before = await self._world.state()
        yield
        after = await self._world.state()
        changed = {place for place in before | after if before.get(place) != after.get(place)}
        mine = self._world.ours.workspace
        left = sorted(table for table, owner in changed if owner != mine or (ours and not table.startswith(but)))
        self._note(route, kind, not left, f"changed {', '.join(left)}")


KINDS: Final[Mapping[str, Callable[[Matrix, Route], Any]]] = {
    "strangers": Matrix.strangers,
    "roles": Matrix.roles,
    "forms": Matrix.forms,
    "scopes": Matrix.scopes,
    "foreign": Matrix.foreign,
    "pages": Matrix.pages,
}


def _body(route: Route) -> dict[str, Any]:
    return {"json": BODIES[str(route)]} if str(route) in BODIES else {}


def _filled(route: Route, known: Mapping[str, str]) -> str:
    return re.sub(r"{(\w+)}", lambda name: known[name[1]], route.path)


def _told(answer: Answer, known: Mapping[str, str]) -> tuple[int, str]:
    """What the answer says, without what is each request's own: of a page, the refusal."""
    refusal = re.search(r'id="refusal".*?</p>', answer.text, re.DOTALL)
    text = refusal[0] if refusal else answer.text
    for one in known.values():
        text = text.replace(one, "ID")
    return answer.status, _OWN.sub("", text)

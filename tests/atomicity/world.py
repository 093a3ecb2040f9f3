"""A workspace where things happen: each deed is one change, or one request or turn of a visitor that makes several."""

import secrets
from collections.abc import Awaitable, Callable
from typing import Final

import httpx

from leadwire.delivery.envelope import KINDS
from leadwire.delivery.relay.admit import admit
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts import reads as keys
from leadwire.domain.bots import reads as bots
from leadwire.domain.bots.schema import LiveBot
from leadwire.domain.bots.visitors import faq, runtime
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.schema import Origin
from leadwire.domain.leads.schema import LeadPatch, Source
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import DomainError
from tests.atomicity.faults import Fault, injected
from tests.delivery.wired import endpoint
from tests.domain.bots.conftest import published

_ORIGIN: Final = Origin(source=Source("/pricing", "spring", None))
_ANSWERS: Final = (200, 404, 409)
CLOSED: Final = ("lead.created", "message.sent", "conversation.ended")


class World:
    """A workspace with a bot that runs a flow, and two endpoints. `pick` chooses among the conversations or leads there
    are.

    One endpoint is open and wants every event, so that changes make their deliveries themselves. The other wants what
    `CLOSED` names, and is closed: those events are left to the relay.
    """

    def __init__(self, workspace: str, bot: LiveBot, client: httpx.AsyncClient, key: str) -> None:
        self.workspace, self.bot = workspace, bot
        self._client, self._key = client, key
        self._talks: list[str] = []
        self._leads: list[str] = []

    @classmethod
    async def begin(cls, client: httpx.AsyncClient) -> "World":
        workspace = await accounts.create_workspace("World")
        _, key = await accounts.create_key(workspace, "key")
        await endpoint(workspace, "http://127.0.0.1:9001/open", *KINDS)
        await admit()
        await endpoint(workspace, "http://127.0.0.1:9001/closed", *CLOSED)
        return cls(workspace, await published(workspace), client, key)

    async def do(self, deed: str, pick: int, fault: Fault | None) -> bool:
        """Do one thing, with a fault in it. Answers whether the fault came about.

        What is refused and what fails by the fault is no matter; anything else that is raised, and a 500, is.
        """
        self._talks, self._leads = await self._ids("conversation"), await self._ids("lead")
        with injected(fault) as injection:
            try:
                status = await DEEDS[deed](self, pick)
            except DomainError:
                status = None
            except db.GONE:
                assert injection.fired
                status = None
        assert status in (None, *_ANSWERS, *([503] if injection.fired else [])), f"{deed} with {fault}: {status}"
        return injection.fired

    async def prepare(self) -> None:
        """A new conversation with a visitor who is a lead, and one before it with somebody who is none, so that every
        deed has something to be done to.
        """
        await self.arrives(0)
        await self.arrives(0)
        self._talks = await self._ids("conversation")
        await conversations.capture_lead(self.workspace, self._talk(0), LeadPatch(email=_address(0)))

    async def newest_lead(self) -> str:
        """Its path."""
        return f"/v1/leads/{(await self._ids('lead'))[-1]}"

    async def arrives(self, pick: int) -> None:
        await runtime.start(self.bot, "Hello", secrets.token_hex(12), _ORIGIN, None, faq.answer)

    async def answers(self, pick: int) -> None:
        if session := await bots.session(self.workspace, self._talk(pick)):
            await runtime.handle_message(session, _address(pick), secrets.token_hex(12), faq.answer)

    async def asks_for_a_person(self, pick: int) -> None:
        if session := await bots.session(self.workspace, self._talk(pick)):
            await runtime.hand_off(session)

    async def is_opened(self, pick: int) -> None:
        await conversations.start(self.workspace, self.bot.id, _ORIGIN)

    async def says(self, pick: int) -> None:
        await conversations.add_message(
            self.workspace, self._talk(pick), ("user", "bot")[pick % 2], secrets.token_hex(4)
        )

    async def is_captured(self, pick: int) -> None:
        found = LeadPatch(email=_address(pick), custom_fields={secrets.token_hex(4): pick})
        await conversations.capture_lead(self.workspace, self._talk(pick + 1), found)

    async def is_handed_off(self, pick: int) -> None:
        await conversations.hand_off(self.workspace, self._talk(pick), "asked")

    async def is_patched(self, pick: int, **headers: str) -> int:
        change = {"name": secrets.token_hex(4), "custom_fields": {f"key {pick % 3}": pick}}
        if pick % 4 == 1:
            change["email"] = _address(pick)
        return await self.request("PATCH", f"/v1/leads/{self._lead(pick)}", headers, json=change)

    async def is_patched_once(self, pick: int) -> int:
        return await self.is_patched(pick, **{"Idempotency-Key": secrets.token_hex(8)})

    async def is_erased(self, pick: int) -> int:
        return await self.request("DELETE", f"/v1/leads/{self._lead(pick)}")

    async def is_erased_once(self, pick: int) -> int:
        return await self.request("DELETE", f"/v1/leads/{self._lead(pick)}", {"Idempotency-Key": secrets.token_hex(8)})

    async def is_ended(self, pick: int) -> int:
        return await self.request("POST", f"/v1/conversations/{self._talk(pick)}/end")

    async def request(self, method: str, path: str, headers: dict[str, str] | None = None, **sent) -> int:
        """Answers the status. The key is looked up each time, so that a request always takes the same words."""
        keys._known.clear()
        headers = {"Authorization": f"Bearer {self._key}", **(headers or {})}
        return (await self._client.request(method, path, headers=headers, **sent)).status_code

    async def _ids(self, table: str) -> list[str]:
        found = await db.rows(f"SELECT id FROM {table} WHERE workspace_id = $1 ORDER BY id", self.workspace)
        return [row["id"] for row in found]

    def _talk(self, pick: int) -> str:
        """The newest one is 0."""
        return self._talks[-1 - pick % len(self._talks)] if self._talks else "conv_00000000000000000000000000"

    def _lead(self, pick: int) -> str:
        return self._leads[-1 - pick % len(self._leads)] if self._leads else "lead_00000000000000000000000000"


def _address(pick: int) -> str:
    """A new one or, as often, one of two that may be somebody's."""
    return f"{secrets.token_hex(4) if pick % 4 < 2 else pick % 4}@example.com"


DEEDS: Final[dict[str, Callable[[World, int], Awaitable[int | None]]]] = {
    deed.__name__: deed
    for deed in (
        World.arrives,
        World.answers,
        World.asks_for_a_person,
        World.is_opened,
        World.says,
        World.is_captured,
        World.is_handed_off,
        World.is_patched,
        World.is_patched_once,
        World.is_erased,
        World.is_erased_once,
        World.is_ended,
    )
}

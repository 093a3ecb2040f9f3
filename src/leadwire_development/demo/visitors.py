"""Simulated visitors who keep talking to the demo's bots while `up` runs."""

import asyncio
import itertools
import logging
import random
import secrets
from collections.abc import Iterator
from typing import Any, Final

from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations import inbox_reads
from leadwire.domain.leads.schema import TEXTS, Source
from leadwire.infrastructure import telemetry
from leadwire.infrastructure.backoff import rest
from leadwire.infrastructure.errors import DomainError
from leadwire.infrastructure.http_client import httpx
from leadwire_development.demo.script import Visit, visit

_LONGEST: Final = 30  # lines
_MANY: Final = 12  # visits one after the other
_CHAT: Final = (
    "How does it connect to our CRM?",
    "About twenty people.",
    "What does the team plan cost?",
    "This week.",
)
_PERSON: Final = "Hello, this is Ada from the team. I have sent you a proposal just now."


async def talk(workspace: str, bots: list[str], url: str, stop: asyncio.Event) -> None:
    """Begin visits to the widget at `url` until `stop` is set: often at first, then as a small company has them."""
    chance = random.Random()  # noqa: S311 - chit-chat
    under_way: set[asyncio.Task[None]] = set()
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=15) as client:
        for pause in pauses(chance):
            if stop.is_set():
                break
            task = asyncio.create_task(_one(client, workspace, bots, chance))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
            await rest(pause, stop)
        for task in under_way:
            task.cancel()


def pauses(chance: random.Random) -> Iterator[float]:
    """Seconds between visits: a minute full of them to look at, then ever fewer, at last some three an hour."""
    for number in itertools.count():
        yield min(chance.uniform(2, 6) * 1.5 ** min(max(0, number - _MANY), 20), chance.uniform(900, 1500))


async def _one(client: httpx.AsyncClient, workspace: str, bots: list[str], chance: random.Random) -> None:
    planned = visit(chance, lead_share=0.8)
    try:
        handed_off = await Visitor(client, bots[planned.bot % len(bots)], planned, chance).talk()
        if handed_off:
            await _reply_as_agent(workspace, handed_off, chance.uniform(300, 900))
    except Exception as error:  # noqa: BLE001 - a server may be away for a moment; the next visitor comes soon
        telemetry.log("visit.failed", level=logging.WARNING, error=error)


class Visitor:
    """Answers what a bot asks, over HTTP as a website's widget does; without a `visit.lead` only until its name."""

    def __init__(self, client: httpx.AsyncClient, bot_id: str, visit: Visit, chance: random.Random) -> None:
        self._client, self._bot_id, self._visit, self._chance = client, bot_id, visit, chance
        self._headers: dict[str, str] = {}

    async def talk(self) -> str | None:
        """Have a conversation. Return its id when it is handed off to a person, None when it has ended."""
        for kind in ("shown", "shown", "shown", "opened"):
            await self._client.post(f"/widget/v1/bots/{self._bot_id}/counts", content=kind)
        config = await self._send("GET", f"/bots/{self._bot_id}")
        if (first := self._answer(config["input"])) is None:
            return None
        source = self._visit.origin.source
        state = await self._send(
            "POST", f"/bots/{self._bot_id}/conversations", {
                **self._line(first),
                "page_url": _page(source),
                "referrer": source.referrer,
                "locale": self._visit.origin.locale,
                "timezone": self._visit.origin.timezone,
            },
        )  # fmt: skip
        conversation = str(state["conversation_id"])
        self._headers = {"Authorization": f"Bearer {state['token']}"}
        for _ in range(_LONGEST):
            await asyncio.sleep(self._chance.uniform(0.3, 1.5))
            if state["status"] != "active" or not state["input"]:
                break
            if (text := self._answer(state["input"])) is None:
                await self._send("POST", f"/conversations/{conversation}/end", {})
                return None
            state = await self._send("POST", f"/conversations/{conversation}/messages", self._line(text))
        return conversation if state["status"] == "handoff" else None

    def _answer(self, question: dict[str, Any] | None) -> str | None:
        if question is None:
            return self._chance.choice(_CHAT)
        if options := question.get("options"):
            return str(self._chance.choice(options))
        if question["kind"] == "date":
            return str(question["min"])
        lead = self._visit.lead
        field = str(question.get("field") or question["kind"]).rpartition(".")[2]
        if field in TEXTS:
            given = getattr(lead, field, None) if lead else None
            return str(given) if isinstance(given, str) else None
        return "20" if question["kind"] == "number" else self._chance.choice(_CHAT)

    async def _send(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        answer = await self._client.request(method, f"/widget/v1{path}", json=body, headers=self._headers)
        answer.raise_for_status()
        found: dict[str, Any] = answer.json() if answer.content else {}
        return found

    def _line(self, text: str) -> dict[str, str]:
        return {"content": text, "client_message_id": secrets.token_urlsafe(16)}


def _page(source: Source) -> str:
    """The address that the visitor is at, with the campaign that led there."""
    page = f"https://www.example.com{source.url or '/'}"
    return f"{page}{'&' if '?' in page else '?'}utm_campaign={source.campaign}" if source.campaign else page


async def _reply_as_agent(workspace: str, conversation_id: str, seconds: float) -> None:
    """Reply, after so many seconds, to a visitor who still waits for a person, and end the conversation. Whom a user
    has taken meanwhile is theirs.
    """
    await asyncio.sleep(seconds)
    try:
        if (await inbox_reads.one(workspace, conversation_id, ""))["place"] != "waiting":
            return
        await conversations.add_message(workspace, conversation_id, "agent", _PERSON)
        await asyncio.sleep(3)
        await conversations.end(workspace, conversation_id, "agent", "answered")
    except DomainError:
        return  # a user has ended it meanwhile

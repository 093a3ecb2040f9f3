"""One simulated visitor, through the same door as everybody's: the widget's channel, over HTTP."""

import asyncio
import random
import secrets
from typing import Any, Final

import httpx

from leadwire.development.demo.play import Pace
from leadwire.development.demo.script import Visit
from leadwire.domain.conversations import changes as conversations
from leadwire.infrastructure.errors import DomainError

_LONGEST: Final = 30  # lines
_CHAT: Final = (
    "How does it connect to our CRM?",
    "About twenty people.",
    "What does the team plan cost?",
    "This week.",
)
_PERSON: Final = "Hello, this is Ada from the team. I have sent you a proposal just now."


class Guest:
    """Somebody who answers what a bot asks; without a `visit.lead` they leave when it becomes personal."""

    def __init__(self, client: httpx.AsyncClient, bot_id: str, visit: Visit, chance: random.Random) -> None:
        self._client, self._bot_id, self._visit, self._chance = client, bot_id, visit, chance
        self._headers: dict[str, str] = {}

    async def talk(self, pace: Pace) -> str | None:
        """From the first word to the end, or until a person is asked for: then answers the conversation's id."""
        config = await self._asked("GET", f"/bots/{self._bot_id}")
        if (first := self._answer(config["input"])) is None:
            return None
        source = self._visit.origin.source
        told = await self._asked(
            "POST", f"/bots/{self._bot_id}/conversations", {
                **self._line(first),
                "page_url": f"https://www.example.com{source.url or '/'}?utm_campaign={source.campaign or ''}",
                "referrer": source.referrer,
                "locale": self._visit.origin.locale,
                "timezone": self._visit.origin.timezone,
            },
        )  # fmt: skip
        conversation = str(told["conversation_id"])
        self._headers = {"Authorization": f"Bearer {told['token']}"}
        for _ in range(_LONGEST):
            await pace()
            if told["status"] != "active" or not told["input"]:
                break
            if (text := self._answer(told["input"])) is None:
                await self._asked("POST", f"/conversations/{conversation}/end", {})
                return None
            told = await self._asked("POST", f"/conversations/{conversation}/messages", self._line(text))
        return conversation if told["status"] == "handoff" else None

    def _answer(self, asked: dict[str, Any] | None) -> str | None:
        if asked is None:
            return self._chance.choice(_CHAT)
        if options := asked.get("options"):
            return str(self._chance.choice(options))
        lead = self._visit.lead
        field = str(asked.get("field") or asked["kind"]).rpartition(".")[2]
        if field in ("email", "name", "phone", "company"):
            given = getattr(lead, field, None) if lead else None
            return str(given) if isinstance(given, str) else None
        return "20" if asked["kind"] == "number" else self._chance.choice(_CHAT)

    async def _asked(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        answer = await self._client.request(method, f"/widget/v1{path}", json=body, headers=self._headers)
        answer.raise_for_status()
        found: dict[str, Any] = answer.json() if answer.content else {}
        return found

    def _line(self, text: str) -> dict[str, str]:
        return {"content": text, "client_message_id": secrets.token_urlsafe(16)}


async def attend(workspace: str, conversation_id: str, patience: float) -> None:
    """The demo's own sales person: sees to a visitor whom nobody has answered for `patience` seconds."""
    await asyncio.sleep(patience)
    try:
        await conversations.add_message(workspace, conversation_id, "agent", _PERSON)
        await asyncio.sleep(3)
        await conversations.end(workspace, conversation_id, "agent", "answered")
    except DomainError:
        return  # somebody real has ended it meanwhile

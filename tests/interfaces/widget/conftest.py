"""Visitors who come in by the door."""

import secrets

import pytest

from leadwire.domain.bots import changes
from leadwire.domain.bots.look import Look
from leadwire.interfaces.widget import api, origins
from tests.domain.bots.conftest import live, operators  # noqa: F401 - fixtures

SITE = "https://shop.example"


@pytest.fixture
async def shop(workspace, live, no_refill):  # noqa: F811
    """A live bot that one website may show."""
    await changes.set_origins(workspace, live.id, [SITE])
    await changes.set_look(workspace, live.id, Look(), "#0f766e")
    for limit in (api._STARTS, api._MESSAGES, api._GUESSES, origins._CALLS):
        limit._buckets.clear()
    return live


class Caller:
    """A visitor's widget, without the looks."""

    def __init__(self, client, bot, **headers):
        self.client = client
        self.bot = bot
        self.headers = headers
        self.conversation = None

    async def says(self, text, message=None, **more):
        line = {"content": text, "client_message_id": message or secrets.token_hex(12), **more}
        if self.conversation is None:
            answer = await self.client.post(
                f"/widget/v1/bots/{self.bot.id}/conversations", json=line, headers=self.headers
            )
            if answer.status_code == 201:
                self.conversation = answer.json()["conversation_id"]
                self.headers["Authorization"] = f"Bearer {answer.json()['token']}"
            return answer
        return await self.post("messages", line)

    async def post(self, path, json=None):
        return await self.client.post(
            f"/widget/v1/conversations/{self.conversation}/{path}", json=json, headers=self.headers
        )

    async def get(self, path):
        return await self.client.get(f"/widget/v1/conversations/{self.conversation}/{path}", headers=self.headers)


@pytest.fixture
def caller(anonymous, shop):
    return Caller(anonymous, shop)

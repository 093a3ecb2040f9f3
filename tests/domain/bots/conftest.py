"""Bots that are live, and what a visitor does with them."""

import secrets

import pytest

from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.domain.bots import changes, reads
from leadwire.domain.bots.visitors import faq, runtime
from leadwire.domain.conversations.schema import Origin
from leadwire.domain.leads.schema import Source
from leadwire.infrastructure import clock, db, ids
from tests.domain.bots.flows import SMALL


async def published(workspace, source=SMALL, name="Bot"):
    """A bot that runs `source`."""
    bot = await changes.create(workspace, name)
    await changes.save_draft(workspace, bot, source)
    await changes.publish(workspace, bot)
    return await reads.live(bot)


class Visitor:
    """Somebody who talks to a bot, in process."""

    def __init__(self, bot, answerer=None):
        self.bot = bot
        self.answerer = answerer or faq.answer
        self.last = None

    async def says(self, text, message=None):
        """Say something; answers what the bot says to it."""
        message = message or secrets.token_hex(12)
        if self.last is None:
            origin = Origin(source=Source("/pricing", "spring", None), locale="en-GB")
            self.last = await runtime.start(self.bot, text, message, origin, b"a", self.answerer)
            self.conversation, self.token = self.last.conversation_id, self.last.token
        else:
            self.last = await runtime.handle_message(await self.visit(), text, message, self.answerer)
        return [said.content for said in self.last.messages if said.role == "bot"]

    async def visit(self):
        return await reads.session_by_token(self.token)


async def hand_back(workspace, conversation_id, user_id):
    """Give a conversation back to its bot."""
    await runtime.hand_back(await reads.session(workspace, conversation_id), user_id)


@pytest.fixture
async def live(workspace):
    """A bot that runs the small flow."""
    return await published(workspace)


@pytest.fixture
def visitor(live):
    return Visitor(live)


@pytest.fixture
async def operators(workspace):
    """Two users."""
    made = [ids.new("user"), ids.new("user")]
    for number, user in enumerate(made):
        await db.rows(
            "INSERT INTO user_account (id, workspace_id, email, role, created_at) VALUES ($1, $2, $3, 'agent', $4)",
            user, workspace, f"agent{number}@example.com", clock.now(),
        )  # fmt: skip
    return made


@pytest.fixture
async def desk(operators):
    """One of them has the inbox open. Answers their session's id."""
    await sessions.begin(operators[0], sessions.Browser("a"))
    session = await db.value("SELECT id FROM user_session")
    await sessions.update(session, present_at=clock.now())
    return session

"""Editing a bot while visitors talk to it."""

import asyncio
import threading

import pytest

from leadwire.domain.bots import changes
from leadwire.domain.bots.changes import drafts
from leadwire.infrastructure.errors import NotFound
from tests.delivery.interleaved import apart, overlapped
from tests.domain.bots.conftest import live, visitor  # noqa: F401 - fixtures


async def test_a_bot_that_is_being_deleted_is_not_taught(workspace, bot):
    with pytest.raises(NotFound):
        await overlapped(
            lambda: changes.change_state(workspace, bot, "deleted"),
            lambda: changes.add_faq_entry(workspace, bot, "When?", "Now."),
        )


async def test_a_visitor_does_not_wait_for_an_edit(workspace, visitor):  # noqa: F811
    begun, done = threading.Event(), threading.Event()

    def slowly(draft):
        begun.set()
        assert done.wait(60)
        return draft

    editing = apart(drafts.edit(workspace, visitor.bot.id, "user_ada", slowly))
    try:
        await asyncio.to_thread(begun.wait, 60)
        talking = apart(visitor.says("Hello"))
        await asyncio.wait_for(talking, 240)
    finally:
        done.set()
        await editing

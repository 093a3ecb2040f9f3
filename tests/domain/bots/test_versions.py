"""Drafts and versions: published ones never change, and conversations stay with theirs."""

import asyncio

import asyncpg
import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes, reads
from leadwire.domain.bots.flow.parse import BadFlow
from leadwire.domain.conversations import reads as conversation_reads
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import Conflict, Invalid, NotFound
from tests.domain.bots.conftest import Visitor
from tests.domain.bots.flows import SMALL

SECOND = SMALL.replace("How big?", "How many?")


async def test_a_draft_becomes_numbered_versions(workspace, bot):
    with pytest.raises(Conflict) as refused:
        await changes.publish(workspace, bot)
    assert refused.value.code == "no_draft"
    with pytest.raises(NotFound):
        await reads.live(bot)
    await changes.save_draft(workspace, bot, SMALL)
    assert await changes.publish(workspace, bot) == 1
    assert await changes.publish(workspace, bot) == 1  # nothing new
    await changes.save_draft(workspace, bot, SECOND)
    assert (await reads.live(bot)).version == 1
    assert await changes.publish(workspace, bot) == 2
    assert [one.version for one in await reads.versions(workspace, bot)] == [2, 1]
    await changes.rollback(workspace, bot, 1)
    assert (await reads.live(bot)).version == 1
    assert (await reads.detail(workspace, bot)).draft == SECOND
    assert await changes.publish(workspace, bot) == 3


async def test_a_draft_that_cannot_be_used_is_not_kept(workspace, bot):
    await changes.save_draft(workspace, bot, SMALL)
    with pytest.raises(BadFlow) as refused:
        await changes.save_draft(workspace, bot, SMALL.replace('next = "size"', 'next = "sise"'))
    assert "node 'email'" in refused.value.detail
    assert (await reads.detail(workspace, bot)).draft == SMALL


async def test_a_version_never_changes(live):
    with pytest.raises(asyncpg.RaiseError):
        await db.rows("UPDATE bot_version SET source = 'x' WHERE bot_id = $1", live.id)


async def test_a_version_published_under_older_rules_keeps_running(workspace, live):
    older = SMALL.replace('op = "gte", value = 50', 'op = "contains", value = ""')
    await db.rows(
        """INSERT INTO bot_version (bot_id, version, workspace_id, source, created_at)
           SELECT bot_id, 2, workspace_id, $2, created_at FROM bot_version WHERE bot_id = $1""",
        live.id, older,
    )  # fmt: skip
    with pytest.raises(BadFlow, match=r"line 33, node 'route': Compare with a text that is not empty\."):
        await changes.save_draft(workspace, live.id, older)
    await changes.rollback(workspace, live.id, 2)
    visitor = Visitor(await reads.live(live.id))
    await visitor.says("ada@example.com")
    assert await visitor.says("Small") == ["Bye ada@example.com."]
    await db.rows("UPDATE bot SET draft = $2 WHERE id = $1", live.id, older)
    await changes.publish(workspace, live.id)  # what is live already may stay so
    assert (await reads.live(live.id)).version == 2
    await changes.rollback(workspace, live.id, 1)
    with pytest.raises(BadFlow):
        await changes.publish(workspace, live.id)


async def test_publishing_at_once_numbers_each_version_once(workspace, bot):
    await changes.save_draft(workspace, bot, SMALL)
    assert set(await asyncio.gather(*(changes.publish(workspace, bot) for _ in range(10)))) == {1}


async def test_a_conversation_goes_on_with_the_version_it_began_with(workspace, live, visitor):
    await visitor.says("ada@example.com")
    await changes.save_draft(workspace, live.id, SECOND)
    await changes.publish(workspace, live.id)
    assert await visitor.says("no idea") == ["How big?"]
    assert (await conversation_reads.detail(workspace, visitor.conversation)).metadata.flow_version == 1
    assert (await Visitor(await reads.live(live.id)).says("ada@example.com"))[-1] == "How many?"


async def test_another_workspaces_bot_is_not_there(live):
    other = await accounts.create_workspace("Other")
    for attempt in (
        reads.detail(other, live.id),
        reads.flow(other, live.id, 1),
        changes.save_draft(other, live.id, SMALL),
        changes.publish(other, live.id),
        changes.rollback(other, live.id, 1),
        changes.set_origins(other, live.id, []),
        changes.add_faq_entry(other, live.id, "Why?", "Because."),
    ):
        with pytest.raises(NotFound):
            await attempt
    assert await reads.versions(other, live.id) == []


NO_ORIGINS = [
    "example.com", "https://example.com/", "https://a@b.c", "ftp://a", "https://", "https://é.fr", "https://a:99999",
    "https://*.example.com", "https://*",
]  # fmt: skip


@pytest.mark.parametrize("origin", NO_ORIGINS)
async def test_what_is_no_origin(workspace, live, origin):
    with pytest.raises(Invalid):
        await changes.set_origins(workspace, live.id, ["https://example.com", origin])
    assert await reads.origins(live.id) == []

"""What two people do in a conversation at the same moment."""

import pytest

from leadwire.domain.bots.visitors import runtime
from leadwire.domain.conversations.changes import inbox, seen
from leadwire.infrastructure import db
from tests.delivery.interleaved import Held, apart, blocked
from tests.domain.bots.conftest import live, operators, visitor  # noqa: F401 - fixtures

READ = "SELECT seq, mentioned_at IS NOT NULL AS mentioned FROM conversation_read WHERE user_id = $1"


@pytest.mark.parametrize("before", [0, 1])
async def test_one_reads_while_another_mentions_them(workspace, visitor, operators, monkeypatch, before):  # noqa: F811
    await visitor.says("what?")
    await runtime.hand_off(await visitor.visit())
    await seen.by_agent(workspace, visitor.conversation, operators[0], before)
    held = Held(inbox._ADD_MENTION)
    monkeypatch.setattr(inbox, "_ADD_MENTION", held)
    noting = apart(inbox.note(workspace, visitor.conversation, operators[1], "@agent0 please look"))
    await held.reached.wait()
    reading = apart(seen.by_agent(workspace, visitor.conversation, operators[0], 2))
    await blocked()
    held.go.set()
    assert [one.id for one in await noting] == [operators[0]]
    await reading
    assert tuple((await db.rows(READ, operators[0]))[0]) == (2, False)  # they read after it was written

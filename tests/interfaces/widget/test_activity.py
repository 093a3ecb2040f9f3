"""What the widget tells of the visitor while a person answers: that they type, and how far they have read."""

import pytest

from leadwire.domain.conversations import pubsub
from leadwire.infrastructure import db

READ = "SELECT seen_by_visitor_seq FROM conversation"


@pytest.fixture
def published(monkeypatch):
    """What was published, without Redis."""
    told = []
    monkeypatch.setattr(pubsub, "publish", lambda workspace, conversation, kind="changed", user="": told.append(kind))
    return told


async def test_it_counts_only_while_a_person_answers(caller, published):
    await caller.says("what?")
    published.clear()
    assert (await caller.post("activity", {"typing": True, "seen": 1})).status_code == 200
    assert (published, await db.value(READ)) == ([], 0)
    await caller.post("handoff")
    published.clear()
    answer = await caller.post("activity", {"typing": True, "seen": 1})
    assert answer.json() == {"status": "handoff", "messages": [], "input": None}
    assert (published, await db.value(READ)) == (["typing_visitor", "changed"], 1)
    await caller.post("activity", {"seen": 900})  # beyond what there is
    assert await db.value(READ) == 1


@pytest.mark.parametrize(
    "given", [{"typing": "yes"}, {"typing": None}, {"seen": -1}, {"seen": 1.5}, {"seen": 10**9}, {"more": 1}]
)
async def test_what_is_none_is_refused(caller, given):
    await caller.says("what?")
    await caller.post("handoff")
    assert (await caller.post("activity", given)).status_code == 422
    assert await db.value(READ) == 0


async def test_nobody_else_can_tell(caller):
    await caller.says("what?")
    await caller.post("handoff")
    caller.headers["Authorization"] = "Bearer other"
    assert (await caller.post("activity", {"seen": 1})).status_code == 401
    assert await db.value(READ) == 0

"""What a visitor thinks of a conversation, once it is over."""

import pytest

from leadwire.domain.conversations import reads
from leadwire.domain.conversations.changes import erasing, seen
from leadwire.domain.conversations.schema import ConversationNotFound
from leadwire.domain.privacy import erasure
from leadwire.infrastructure import db
from tests import make

RATING = "SELECT rating, rating_comment FROM conversation"


async def test_a_conversation_that_has_ended_is_rated(workspace, caller):
    await caller.says("ada@example.com")
    early = await caller.post("rating", {"rating": 5})
    assert (early.status_code, early.json()["code"]) == (409, "not_ended")
    await caller.post("end")
    before = await make.kinds()
    assert (await caller.post("rating", {"rating": 2})).json()["status"] == "ended"
    assert tuple(await db.row(RATING)) == (2, None)
    assert (await caller.post("rating", {"rating": 4, "comment": " Quick\nand kind "})).status_code == 200
    assert await reads.rating(workspace, caller.conversation) == (4, "Quick\nand kind", "ended")
    assert await make.kinds() == before


@pytest.mark.parametrize(
    "given",
    [{}, {"rating": 0}, {"rating": 6}, {"rating": "5"}, {"rating": 4.5}, {"rating": None}, {"rating": 3, "more": 1},
     {"rating": 3, "comment": "x" * 1001}, {"rating": 3, "comment": "\0"}, {"rating": 3, "comment": None}],
)  # fmt: skip
async def test_what_is_no_rating_is_refused(caller, given):
    await caller.says("ada@example.com")
    await caller.post("end")
    assert (await caller.post("rating", given)).status_code == 422
    assert tuple(await db.row(RATING)) == (None, None)


async def test_another_workspace_has_no_such_conversation(caller):
    await caller.says("ada@example.com")
    await caller.post("end")
    with pytest.raises(ConversationNotFound):
        await seen.rate("ws_other", caller.conversation, 1, None)
    assert tuple(await db.row(RATING)) == (None, None)


async def test_the_comment_goes_with_the_person_and_the_figure_stays(workspace, caller):
    await caller.says("ada@example.com")
    await caller.post("end")
    await caller.post("rating", {"rating": 4, "comment": "I am Ada"})
    await erasure.erase_lead(workspace, await db.value("SELECT id FROM lead"))
    assert tuple(await db.row(RATING)) == (4, None)


async def test_the_comment_goes_with_what_was_said(workspace, caller):
    await caller.says("what?")
    await caller.post("end")
    await caller.post("rating", {"rating": 4, "comment": "I am Ada"})
    async with db.transaction():
        await erasing.blank(workspace, [caller.conversation])
    assert tuple(await db.row(RATING)) == (4, None)


async def test_a_day_after_the_end_it_is_too_late(caller):
    """Later, what was said may have been erased, and a comment would be what is left of the visitor."""
    await caller.says("ada@example.com")
    await caller.post("end")
    await db.rows("UPDATE conversation SET ended_at = ended_at - interval '25 hours'")
    late = await caller.post("rating", {"rating": 4, "comment": "I am Ada"})
    assert (late.status_code, late.json()["code"]) == (409, "too_late")
    assert tuple(await db.row(RATING)) == (None, None)

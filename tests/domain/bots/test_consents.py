"""What visitors consent to: with the text that they read, when, in which version, and what becomes of it."""

import pytest

from leadwire.domain.bots import reads
from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.bots.flow.parse import parse
from leadwire.domain.bots.visitors import preview
from leadwire.domain.conversations.changes import erasing
from leadwire.domain.privacy import erasure
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.errors import NotFound
from tests import make
from tests.domain.bots.conftest import Visitor, published

FLOW = """
format = 1
start = "name"

[[nodes]]
type = "ask"
id = "name"
text = "Your name?"
save_to = "name"
next = "news"

[[nodes]]
type = "ask"
id = "news"
text = "{{name}}, may we send you news?"
input = "choice"
options = [{ label = "Yes, please", value = "yes", consent = true }, { label = "No", consent = false }]
next = "email"

[[nodes]]
type = "ask"
id = "email"
text = "Your e-mail?"
input = "email"
save_to = "email"
next = "calls"

[[nodes]]
type = "ask"
id = "calls"
text = "May we call you?"
input = "choice"
options = [{ label = "Yes", consent = true }, { label = "Never", consent = false }, { label = "What for?" }]
next = "end"

[[nodes]]
type = "end"
id = "end"
"""
EMAIL = "ada@example.com"


@pytest.fixture
async def asking(workspace):
    """A visitor of a bot that asks for consent before and after it knows an address."""
    return Visitor(await published(workspace, FLOW))


async def told(workspace):
    """The one lead, and what is kept of their consents, oldest first."""
    lead = await db.value("SELECT id FROM lead")
    found = await reads.consents_of(workspace, lead)
    return lead, [(one.node, one.text, one.answer, one.given, one.flow_version, one.latest) for one in found[::-1]]


async def test_a_consent_has_the_text_that_the_visitor_read_also_before_there_is_a_lead(workspace, asking):
    before = clock.now()
    for said in ("Ada", "yes"):
        await asking.says(said)
    assert await db.value("SELECT lead_id IS NULL FROM consent")
    await asking.says(EMAIL)
    lead, found = await told(workspace)
    assert found == [("news", "Ada, may we send you news?", "Yes, please", True, 1, True)]
    await asking.says("never")
    _, found = await told(workspace)
    assert found[1:] == [("calls", "May we call you?", "Never", False, 1, True)]
    (later, first) = await reads.consents_of(workspace, lead)
    assert clock.iso(before) <= first.created_at <= later.created_at
    assert {(one.bot_id, one.user_id) for one in (first, later)} == {(asking.bot.id, None)}


@pytest.mark.parametrize("answers", [("Ada", "No", EMAIL, "What for?"), ("Ada", "no", EMAIL, "hm?", "What for?")])
async def test_only_options_that_say_so_are_recorded(workspace, asking, answers):
    for said in answers:
        await asking.says(said)
    _, found = await told(workspace)
    assert found == [("news", "Ada, may we send you news?", "No", False, 1, True)]


async def test_a_flow_that_asks_for_none_records_none(live, workspace):
    visitor = Visitor(live)
    for said in (EMAIL, "Large"):
        await visitor.says(said)
    assert (await told(workspace))[1] == []


async def test_a_withdrawal_is_added_once(workspace, asking):
    for said in ("Ada", "yes", EMAIL):
        await asking.says(said)
    lead, _ = await told(workspace)
    (given,) = await reads.consents_of(workspace, lead)
    user = ids.new("user")
    for place in (("ws_other", lead, given.id), (workspace, ids.new("lead"), given.id), (workspace, lead, "cons_x")):
        with pytest.raises(NotFound):
            await visitor_sessions.withdraw_consent(*place, user)
    await visitor_sessions.withdraw_consent(workspace, lead, given.id, user)
    later, earlier = await reads.consents_of(workspace, lead)
    assert (later.given, later.user_id, later.text, later.node, later.latest) == (False, user, given.text, "news", True)
    assert (earlier.given, earlier.latest) == (True, False)
    for consent in (given.id, later.id):
        with pytest.raises(NotFound):
            await visitor_sessions.withdraw_consent(workspace, lead, consent, user)


async def test_an_erasure_takes_them(workspace, asking):
    for said in ("Ada", "yes", EMAIL):
        await asking.says(said)
    lead, _ = await told(workspace)
    await db.rows("UPDATE consent SET conversation_id = NULL")  # as when the conversation is no longer kept
    await asking.says("Yes")
    kept = await make.lead(workspace, asking.bot.id, email="bo@example.com")
    await db.rows(
        "INSERT INTO consent SELECT $1, workspace_id, NULL, $2, bot_id, 1, node, text, answer, given, NULL, created_at"
        " FROM consent LIMIT 1",
        ids.new("cons"), kept.id,
    )  # fmt: skip
    await erasure.erase_lead(workspace, lead)
    assert [row["lead_id"] for row in await db.rows("SELECT lead_id FROM consent")] == [kept.id]


async def test_without_a_lead_they_go_with_the_conversation(workspace, asking):
    for said in ("Ada", "yes"):
        await asking.says(said)
    assert await db.value("SELECT count(*) FROM consent") == 1
    async with db.transaction():
        await erasing.delete(workspace, [asking.conversation])
    assert await db.value("SELECT count(*) FROM consent") == 0


async def test_a_preview_says_what_would_be_recorded():
    async def nothing(_):
        return None

    shown = await preview.run("ws", "bot", parse(FLOW), ["Ada", "yes", EMAIL, "Never"], nothing)
    notes = [note for note in shown.notes if note.startswith("Records")]
    assert notes == [
        "Records consent: Ada, may we send you news?",
        "Records that consent is refused: May we call you?",
    ]

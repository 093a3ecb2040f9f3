"""The inbox on the screen."""

import re

import pytest

from leadwire.domain.bots import reads as bots
from leadwire.domain.bots.visitors import runtime
from leadwire.domain.conversations import changes as conversation_changes
from leadwire.domain.conversations import reads
from leadwire.domain.conversations.changes import end_and_snooze
from leadwire.domain.leads.schema import custom_fields
from leadwire.infrastructure import clock, db
from leadwire.interfaces.web import faces, rendering
from leadwire.interfaces.web.faces import nickname
from tests import jobs, make
from tests.delivery.interleaved import apart
from tests.domain.bots.conftest import Visitor, live, published, visitor  # noqa: F401 - fixtures
from tests.interfaces.web.hostile import seen


@pytest.fixture
async def waiting(visitor):  # noqa: F811
    """A visitor who waits for a person."""
    await visitor.says("what <b>is</b> this?")
    await runtime.hand_off(await visitor.visit())
    return visitor.conversation


async def said(workspace, conversation):
    return [(one.role, one.content) for one in (await reads.detail(workspace, conversation)).messages]


async def test_who_asks_for_a_person_is_found_answered_and_ended(agent, workspace, waiting):
    page = await agent.open("/inbox")
    assert "Waiting <small>1</small>" in page
    assert f"<b>{nickname(waiting)}</b>" in page
    assert "what &lt;b&gt;is&lt;/b&gt; this?" in page
    page = await agent.open(f"/inbox?c={waiting}")
    assert "what &lt;b&gt;is&lt;/b&gt; this?" in page
    assert "Asked for a person" in page
    page = await agent.fill(f"/inbox/{waiting}/reply", content="Hello, Grace here.")
    assert "Mine, answered" in page
    assert (await said(workspace, waiting))[-1] == ("agent", "Hello, Grace here.")
    page = await agent.fill(f"/inbox/{waiting}/note", note="A <i>friend</i> of ours")
    assert "A &lt;i&gt;friend&lt;/i&gt; of ours" in page
    page = await agent.fill(f"/inbox/{waiting}/end")
    assert "This conversation ends in a few seconds" in page
    with clock.at(clock.now() + end_and_snooze.UNDO):
        await jobs.run("conversation_due", early=True)
    page = await agent.open(f"/inbox?c={waiting}")
    assert "It has ended for good" in page
    assert 'name="content"' not in page.partition("<template")[0]
    assert [kind for kind in await make.kinds() if kind.startswith("conversation")] == [
        "conversation.started",
        "conversation.handoff",
        "conversation.ended",
    ]


async def test_of_two_who_take_one_conversation_the_second_is_told(agent, admin, waiting):
    await agent.open(f"/inbox?c={waiting}")
    await admin.open(f"/inbox?c={waiting}")
    await agent.fill(f"/inbox/{waiting}/claim", held_by="")
    page = await admin.fill(f"/inbox/{waiting}/claim", 409, held_by="")
    assert "grace@example.org has this conversation." in page
    page = await admin.fill(f"/inbox/{waiting}/reply", 409, content="Me too")
    assert "grace@example.org talks to this visitor" in page
    holder = await db.value("SELECT assigned_to FROM conversation WHERE id = $1", waiting)
    assert "Mine" in await admin.fill(f"/inbox/{waiting}/claim", held_by=holder)


async def test_a_place_that_no_message_has_marks_nothing_as_read(agent, workspace, waiting):
    await agent.open(f"/inbox?c={waiting}")
    for seq in (-99_999_999_999, -1, 99_999_999_999):
        answer = await agent.post(f"/inbox/{waiting}/seen", data={"form_token": agent.token, "seq": str(seq)})
        assert answer.status_code == 204
    ((seq,),) = await db.rows("SELECT seq FROM conversation_read WHERE conversation_id = $1", waiting)
    assert 0 <= seq <= len(await said(workspace, waiting))


async def test_it_goes_back_to_the_queue_or_to_the_bot(agent, waiting):
    await agent.open(f"/inbox?c={waiting}")
    await agent.fill(f"/inbox/{waiting}/claim", held_by="")
    assert "Waiting <small>1</small>" in await agent.fill(f"/inbox/{waiting}/release")
    await agent.fill(f"/inbox/{waiting}/claim", held_by="")
    assert "With the bot" in await agent.fill(f"/inbox/{waiting}/give-back")


async def test_a_conversation_is_taken_from_the_bot(agent, workspace, bot):
    talk = await make.conversation(workspace, bot)
    assert "With the bot" in await agent.open(f"/inbox?c={talk}")
    assert "Mine" in await agent.fill(f"/inbox/{talk}/claim", held_by="")


@pytest.mark.parametrize("content", ["", "   ", "x" * 4001])
async def test_an_answer_that_cannot_be_sent(agent, waiting, content):
    await agent.open(f"/inbox?c={waiting}")
    assert "A text has 1 to 4000 characters" in await agent.fill(f"/inbox/{waiting}/reply", 422, content=content)


async def test_the_end_is_the_end(agent, workspace, waiting):
    await agent.open(f"/inbox?c={waiting}")
    await conversation_changes.end(workspace, waiting, "visitor", "closed")
    for deed, fields in (("reply", {"content": "Hi"}), ("claim", {}), ("release", {}), ("give-back", {})):
        assert "has ended" in await agent.fill(f"/inbox/{waiting}/{deed}", 409, **fields), deed


async def test_another_workspace_has_another_inbox(agent, waiting):
    from leadwire.domain.accounts import changes
    from leadwire.domain.bots import changes as bots

    other = await changes.create_workspace("Other")
    theirs = await make.conversation(other, await bots.create(other, "Theirs"))
    assert theirs not in await agent.open("/inbox")
    await agent.open(f"/inbox?c={theirs}", 404)
    await agent.open("/inbox")
    await agent.fill(f"/inbox/{theirs}/reply", 404, content="Hi")
    await agent.fill(f"/inbox/{waiting}/nonsense", 422)


async def test_a_lead_is_corrected_beside_the_conversation(agent, visitor, workspace):  # noqa: F811
    await visitor.says("ada@example.com")
    talk = visitor.conversation
    first = seen(await agent.open(f"/inbox?c={talk}"))
    kept = {"email": "ada@example.com", "name": "", "phone": "", "company": ""}
    page = await agent.fill(f"/inbox/{talk}/lead", **kept | {"name": "Ada <b>", "company": "Engines"}, seen=first)
    assert "Ada &lt;b&gt;" in page
    assert "Engines" in page
    assert (await make.kinds())[-1] == "lead.updated"
    page = await agent.fill(f"/inbox/{talk}/lead", 422, **kept | {"email": "nonsense"}, seen=first)
    assert 'value="nonsense"' in page
    page = await agent.fill(f"/inbox/{talk}/lead", 412, **kept | {"name": "Eve"}, seen=first)  # somebody was quicker
    assert 'name="name" value="Eve"' in page
    assert (await reads.detail(workspace, talk)).lead.name == "Ada <b>"


async def test_a_blocked_visitor_can_be_talked_to_again(agent, viewer, visitor, waiting):  # noqa: F811
    await agent.open(f"/inbox?c={waiting}")
    await agent.fill(f"/inbox/{waiting}/block")
    assert f'action="/conversations/{waiting}/unblock"' not in await viewer.open(f"/conversations/{waiting}")
    assert "No bot talks to this visitor" in await agent.open(f"/conversations/{waiting}")
    page = await agent.fill(f"/conversations/{waiting}/unblock")
    assert "The visitor can talk to your bots again." in page
    assert "No bot talks" not in page
    await agent.fill(f"/conversations/{waiting}/unblock", 404)
    visitor.last = None
    assert await visitor.says("Hello again")


async def test_ten_thousand_tags_are_refused_and_nothing_is_kept(agent, waiting):
    await agent.open(f"/inbox?c={waiting}")
    assert "Remove the tag urgent" in await agent.fill(f"/inbox/{waiting}/tag", add="Urgent")
    pasted = ",".join(f"tag {number}" for number in range(10_000))
    await agent.fill(f"/inbox/{waiting}/tag", 413, add=pasted)
    await agent.open(f"/inbox?c={waiting}")
    page = await agent.fill(f"/inbox/{waiting}/tag", 422, add=pasted[:3000])
    assert "A tag has at most 40 characters, a conversation at most 20 tags." in page
    assert 'value="tag 0,tag 1,' in page  # what was typed is corrected, not typed anew
    assert await db.value("SELECT tags FROM conversation WHERE id = $1", waiting) == ["urgent"]
    assert "Remove the tag urgent" not in await agent.fill(f"/inbox/{waiting}/untag", remove="urgent")


async def test_a_visitor_is_made_a_lead_also_one_that_is_known(agent, workspace, waiting, live):  # noqa: F811
    known = Visitor(live)
    await known.says("ada@example.com")
    lead = (await reads.detail(workspace, known.conversation)).lead.id
    await agent.open(f"/inbox?c={waiting}")
    page = await agent.fill(f"/inbox/{waiting}/new-lead", 422, email="nonsense", new="1")
    assert 'value="nonsense"' in page
    page = await agent.fill(f"/inbox/{waiting}/new-lead", email="Ada@Example.com", name="Eve", new="1")
    assert "This address belongs to a lead that was known already." in page
    assert (await reads.detail(workspace, waiting)).lead.id == lead
    await agent.fill(f"/inbox/{waiting}/new-lead", 409, email="b@example.com", new="1")


async def test_a_visitor_gives_the_address_that_an_agent_enters(agent, waiting, live, monkeypatch):  # noqa: F811
    known, stored = Visitor(live), runtime.store_turn
    await known.says("hello")

    async def late(turn, start):
        monkeypatch.undo()
        await apart(known.says("ada@example.com"))
        await stored(turn, start)

    await agent.open(f"/inbox?c={waiting}")
    monkeypatch.setattr(runtime, "store_turn", late)
    page = await agent.fill(f"/inbox/{waiting}/new-lead", email="ada@example.com", new="1")
    assert "This address belongs to a lead that was known already." in page


async def test_it_is_assigned_to_a_colleague_or_snoozed(agent, admin, viewer, waiting):
    ids = {row["email"]: row["id"] for row in await db.rows("SELECT id, email FROM user_account")}
    await agent.open(f"/inbox?c={waiting}")
    page = await agent.fill(f"/inbox/{waiting}/assign?show=theirs", to=ids["ada@example.org"], held_by="")
    assert "ada@example.org talks to this visitor" in page
    assert f'href="/inbox?show=theirs&amp;c={waiting}"' in page  # the filter has stayed
    for email, user in ids.items():
        if email not in ("ada@example.org", "grace@example.org"):  # a viewer does not answer visitors
            await agent.fill(f"/inbox/{waiting}/assign", 422, to=user, held_by=ids["ada@example.org"])
    await agent.fill(f"/inbox/{waiting}/snooze", 409, **{"for": "hour"})
    await admin.open(f"/inbox?c={waiting}")
    page = await admin.fill(f"/inbox/{waiting}/snooze", 422, **{"for": "at", "at": "2020-01-01T10:00"})
    assert '<details class="sure" id="snooze" open>' in page
    assert "Snoozed: it comes back" in await admin.fill(f"/inbox/{waiting}/snooze", **{"for": "hour"})
    assert "Snoozed: it comes back" not in await admin.fill(f"/inbox/{waiting}/wake")


async def test_filters_that_mean_nothing_show_everything(agent, waiting):
    for query in ("show=nonsense", "bot=bot_x", "sort=up", "tag=%20", "bot=bot_x%00"):
        answer = await agent.request("GET", f"/inbox?{query}")
        assert answer.status_code == (400 if "%00" in query else 200), query
        assert (waiting in answer.text) == (answer.status_code == 200)
    assert "No open conversation matches." in await agent.open("/inbox?tag=nowhere")


async def test_who_answered_me_is_above_all_who_wait(agent, workspace, waiting, live):  # noqa: F811
    await agent.open(f"/inbox?c={waiting}")
    await agent.fill(f"/inbox/{waiting}/reply", content="Hello")
    others = [Visitor(live) for _ in range(12)]
    for other in others:
        await other.says("Hello there")
        await runtime.hand_off(await other.visit())
    rows = re.findall(r'id="thread-(\w+)"', await agent.open("/inbox"))
    assert rows == [*(other.conversation for other in others), waiting]
    await conversation_changes.add_message(workspace, waiting, "user", "One more thing")
    rows = re.findall(r'id="thread-(\w+)"', await agent.open("/inbox"))
    assert rows == [waiting, *(other.conversation for other in others)]
    names = re.findall(r"<b>(\w+ \d+)</b>", await agent.open("/inbox?show=waiting"))
    assert names == [nickname(other.conversation) for other in others]


async def test_the_head_tells_the_situation(agent, admin, waiting):
    assert "Waits <time" in await agent.open(f"/inbox?c={waiting}")
    assert "</svg>Answered</span>" in await agent.fill(f"/inbox/{waiting}/reply", content="Hello")
    page = await admin.open(f"/inbox?c={waiting}")
    assert "</svg>With grace@example.org</span>" in page
    assert "Waits <time" not in page


@pytest.mark.parametrize(
    ("minutes", "told"),
    [
        (4, '"">4 min<'),
        (5, '"late">5 min<'),
        (15, '"long">15 min<'),
        (200, '"long">3 h<'),
        (2880, '"long">2 days<'),
        (5759, '"long">3 days<'),
    ],
)
def test_a_long_wait_has_a_color(minutes, told):
    with clock.at(clock.now()):
        assert f"data-waits={told}" in rendering.waits(clock.ago(minutes=minutes))


def test_what_has_happened_is_no_longer_ago_than_its_wait():
    with clock.at(clock.now()):
        since = clock.ago(minutes=179)
        assert ">2 h<" in rendering.waits(since)
        assert ">2 hr. ago<" in rendering.ago(since)


def test_faces_have_initials():
    for name, initials in (("Ada King Lovelace", "AL"), ("grace@example.org", "GR"), (" ", "?")):
        assert faces.face("user_x", name).endswith(f">{initials}</i>")
    assert faces.nickname("conv_a") == faces.nickname("conv_a") != faces.nickname("conv_b")


async def test_people_have_names(agent, admin, workspace, waiting):
    page = await agent.fill("/account/name", name="  Grace\u202e\n Brewster   Hopper ")
    assert "You are Grace Brewster Hopper here." in page
    await agent.open(f"/inbox?c={waiting}")
    page = await agent.fill(f"/inbox/{waiting}/reply", content="Hello")
    assert "<small>Grace Brewster Hopper · " in page
    assert (await reads.messages(workspace, waiting, 0))[-1].author == "Grace"
    await agent.fill(f"/inbox/{waiting}/note", note="Knows us")
    page = await admin.open(f"/inbox?c={waiting}")
    assert page.count(">GH</i>") == 2  # of the row and the note
    assert "</svg>With Grace Brewster Hopper</span>" in page
    assert ">Grace Brewster Hopper</option>" in page
    page = await admin.fill(f"/inbox/{waiting}/claim", 409, held_by="")
    assert "Grace Brewster Hopper has this conversation." in page
    assert 'title="grace@example.org">Grace Brewster Hopper</th>' in await admin.open("/audit")
    assert "Grace Brewster Hopper · " in await admin.open(f"/conversations/{waiting}")
    await agent.open("/account")
    assert "You go by your address." in await agent.fill("/account/name", name=" ")
    assert (await reads.messages(workspace, waiting, 0))[-1].author is None


async def test_an_answer_written_for_another_conversation_is_not_sent(agent, workspace, waiting, bot):
    other = await make.conversation(workspace, bot)
    page = await agent.open(f"/inbox?c={waiting}")
    assert f'<input type="hidden" name="conversation" value="{waiting}">' in page
    page = await agent.fill(f"/inbox/{waiting}/reply", 409, content="For them", conversation=other)
    assert "This answer was written for another conversation. Nothing was sent." in page
    assert ("agent", "For them") not in await said(workspace, waiting)
    await agent.fill(f"/inbox/{waiting}/reply", content="For you", conversation=waiting)
    assert ("agent", "For you") in await said(workspace, waiting)


ASKS_LAST = """
format = 1
start = "news"

[[nodes]]
type = "ask"
id = "news"
text = "May we send you news?"
input = "choice"
options = [{ label = "Yes", consent = true }, { label = "No", consent = false }]
next = "size"

[[nodes]]
type = "ask"
id = "size"
text = "How many are you?"
input = "choice"
save_to = "custom_fields.size"
options = [{ label = "1-10" }, { label = "11-50", score = 30 }]
next = "role"

[[nodes]]
type = "ask"
id = "role"
text = "What do you do?"
save_to = "custom_fields.role"
next = "end"

[[nodes]]
type = "end"
id = "end"
"""


async def lead_of(workspace, conversation):
    """The lead's score, its custom fields, and the texts that it has consented to."""
    lead = (await reads.detail(workspace, conversation)).lead
    consents = [one.text for one in await bots.consents_of(workspace, lead.id)]
    return lead.score, custom_fields(lead), consents


@pytest.mark.parametrize("known", [False, True], ids=["new", "known"])
async def test_who_is_made_a_lead_has_what_they_have_answered_before_and_after(agent, workspace, known):
    bot = await published(workspace, ASKS_LAST)
    if known:
        await make.lead(workspace, bot.id, email="ada@example.com")
    asked = Visitor(bot)
    for answer in ("Yes", "11-50"):
        await asked.says(answer)
    await agent.open(f"/inbox?c={asked.conversation}")
    page = await agent.fill(f"/inbox/{asked.conversation}/new-lead", email="ada@example.com", name="Ada", new="1")
    assert "+30 size: 11-50" in page
    assert await lead_of(workspace, asked.conversation) == (30, {"size": "11-50"}, ["May we send you news?"])
    await asked.says("I build ships")
    fields = {"size": "11-50", "role": "I build ships"}
    assert await lead_of(workspace, asked.conversation) == (30, fields, ["May we send you news?"])


async def test_making_a_lead_calls_off_no_end(agent, workspace, waiting):
    await agent.open(f"/inbox?c={waiting}")
    await agent.fill(f"/inbox/{waiting}/end")
    await agent.fill(f"/inbox/{waiting}/new-lead", email="ada@example.com", new="1")
    with clock.at(clock.now() + end_and_snooze.UNDO):
        await jobs.run("conversation_due", early=True)
    assert (await reads.detail(workspace, waiting)).status == "ended"


async def test_a_lead_is_made_of_who_has_left(agent, workspace, waiting):
    await conversation_changes.end(workspace, waiting, "visitor")
    await agent.open(f"/inbox?c={waiting}")
    await agent.fill(f"/inbox/{waiting}/new-lead", email="ada@example.com", new="1")
    conversation = await reads.detail(workspace, waiting)
    assert (conversation.status, conversation.lead.email) == ("ended", "ada@example.com")


async def test_a_lead_is_made_of_whom_no_bot_talked_to(agent, workspace, bot):
    """As in a conversation that another installation began."""
    talk = await make.conversation(workspace, bot)
    await agent.open(f"/inbox?c={talk}")
    await agent.fill(f"/inbox/{talk}/new-lead", email="ada@example.com", new="1")
    assert (await reads.detail(workspace, talk)).lead.email == "ada@example.com"

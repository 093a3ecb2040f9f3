"""What a workspace does not keep for longer goes, and nothing else: in batches, wherever the sweep was interrupted."""

from datetime import timedelta

import asyncpg
import pytest

from leadwire.delivery.envelope import KINDS as EVENTS
from leadwire.delivery.relay.fan_out import fan_out
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.bots import reads as bot_reads
from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations import reads
from leadwire.domain.conversations.changes import inbox
from leadwire.domain.conversations.reads import ConversationQuery
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.privacy import erasure, retention
from leadwire.domain.webhooks import changes as webhooks
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.domain.workspaces import changes as workspaces
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.errors import Conflict, Invalid
from tests import jobs, make
from tests.delivery.test_one_fails import refused
from tests.delivery.wired import endpoint
from tests.domain.bots.conftest import Visitor, published
from tests.domain.bots.test_consents import EMAIL, FLOW
from tests.domain.privacy.test_person_copy import MAIL

KEPT = dict.fromkeys(retention.KINDS)


async def swept(workspace, **days):
    """Set retention and sweep until nothing is due any more."""
    await retention.change(workspace, KEPT | days)
    await sweep()


async def sweep():
    """Sweep until nothing is due any more, but what has failed or rests."""
    for _ in range(100):
        await jobs.run("retention")
        if not await count(
            "job",
            "kind = 'retention' AND tries = 0 AND NOT EXISTS (SELECT 1 FROM workspace WHERE id ="
            " workspace_id AND suspended_at IS NOT NULL)",
        ):
            return
        await jobs.make_due("retention")
    raise AssertionError("it never ends")


async def count(table, where="true"):
    return await db.value(f"SELECT count(*) FROM {table} WHERE {where}")


async def ended(workspace, bot, days, *, lead=False, **found):
    """The id of a conversation, or of its lead, that ended so many days ago."""
    with clock.at(clock.ago(days=days)):
        if lead:
            one = await make.lead(workspace, bot, **{"email": f"{ids.new('x')}@example.com", **found})
            await conversations.end(workspace, one.conversation_id, "system", "silence")
            return one
        made = await make.conversation(workspace, bot)
        await conversations.end(workspace, made, "system", "silence")
        return made


@pytest.mark.parametrize(
    ("kind", "lead", "gone"), [("conversations", False, True), ("conversations", True, False),
                               ("lead_conversations", True, True), ("lead_conversations", False, False)],
)  # fmt: skip
async def test_conversations_go_with_everything_in_them(workspace, bot, kind, lead, gone):
    old = await ended(workspace, bot, 31, lead=lead)
    new = await ended(workspace, bot, 29, lead=lead)
    await db.rows(MAIL, ids.new("mail"), workspace, old.conversation_id if lead else old, "bo@example.com")
    still_open = await make.conversation(workspace, bot)
    await db.rows("UPDATE conversation SET created_at = created_at - interval '1 year' WHERE status <> 'ended'")
    old, new = (one.conversation_id if lead else one for one in (old, new))
    await swept(workspace, **{kind: 30})
    left = {row["id"] for row in await db.rows("SELECT id FROM conversation")}
    assert left == {new, still_open} | (set() if gone else {old})
    assert await count("message", f"conversation_id = '{old}'") == (0 if gone else 1)
    blanked = await db.rows("SELECT DISTINCT kind FROM event WHERE body = '' ORDER BY 1")
    about = ["conversation.ended", "conversation.started", "message.received"]
    assert [row["kind"] for row in blanked] == (about if gone else [])
    assert await count("lead") == 2 * lead
    assert await count("mail") == (0 if gone else 1)


@pytest.mark.parametrize("kind", ["messages", "lead_conversations"])
async def test_what_waits_behind_it_in_an_order_is_sent(workspace, bot, wire, receiver, kind):
    made = await endpoint(workspace, receiver.url, "message.received", "lead.created")
    await webhooks.configure(workspace, made.id, EndpointChange(ordered=True))
    await ended(workspace, bot, 31, lead=True)
    await fan_out()
    await webhooks.disable(workspace, made.id)
    await swept(workspace, **{kind: 30})
    await webhooks.enable(workspace, made.id)
    for _ in range(2):
        await wire.turn()
    assert [one.event for one in receiver.deliveries] == ["lead.created"]


async def test_a_block_goes_with_the_conversation_on_whose_page_it_can_be_undone(workspace):
    visitor = Visitor(await published(workspace))
    with clock.at(clock.ago(days=31)):
        await visitor.says("Ada")
        await visitor_sessions.block(workspace, visitor.conversation, await make.user(workspace))
    for left in (1, 0):
        await jobs.run("blocked_visitor.delete")
        assert await count("blocked_visitor") == left
        await swept(workspace, conversations=30)


async def test_the_total_of_the_list_is_counted_again(workspace, bot):
    await ended(workspace, bot, 31)
    assert (await reads.page(workspace, ConversationQuery()))[1] == 1
    await swept(workspace, conversations=30)
    assert (await reads.page(workspace, ConversationQuery()))[:2] == ([], 0)


async def test_the_consents_of_a_lead_outlive_its_conversation(workspace):
    visitor = Visitor(await published(workspace, FLOW))
    with clock.at(clock.ago(days=40)):
        for said in ("Ada", "yes", EMAIL, "Never"):
            await visitor.says(said)
    await swept(workspace, lead_conversations=30)
    assert await count("conversation") == 0
    lead = await db.value("SELECT id FROM lead")
    assert [one.given for one in await bot_reads.consents_of(workspace, lead)] == [False, True]
    await erasure.erase_lead(workspace, lead)
    assert await count("consent") == 0


async def test_a_lead_goes_as_if_it_were_erased(workspace, bot):
    old = await ended(workspace, bot, 31, lead=True, email="secret.person@example.com", name="Secretia")
    await swept(workspace, leads=30)
    assert await count("lead") == 0
    assert [row["lead_id"] for row in await db.rows("SELECT lead_id FROM conversation")] == [None]
    assert (await make.emitted())[-1]["data"] == {"id": old.id, "deleted": True}
    for name, rows in (await make.stored()).items():
        assert not any(trace in row for row in rows for trace in ("secret.person", "Secretia")), name
    told = await db.row("SELECT actor, subject, detail FROM audit_entry WHERE action = 'retention.applied'")
    assert tuple(told) == ("retention", "leads", "1")


async def test_a_lead_to_which_something_has_happened_stays(workspace, bot):
    changed, came_back, silent, new = [await ended(workspace, bot, days, lead=True) for days in (90, 80, 70, 5)]
    await leads.update(workspace, changed.id, LeadPatch(company="Acorn"), unchanged={})
    with clock.at(clock.ago(days=3)):
        again = await make.conversation(workspace, bot)
        await conversations.capture_lead(workspace, again, LeadPatch(email=came_back.email))
    await swept(workspace, leads=30)
    assert {row["id"] for row in await db.rows("SELECT id FROM lead")} == {changed.id, came_back.id, new.id}
    assert silent.id not in {changed.id, came_back.id, new.id}


async def edit(workspace, bot, lead):
    await leads.update(workspace, lead.id, LeadPatch(company="Acorn"), unchanged={})


async def write(workspace, bot, lead):
    await conversations.add_message(workspace, lead.conversation_id, "user", "I am back")


async def come_again(workspace, bot, lead):
    conversation = await make.conversation(workspace, bot)
    await conversations.capture_lead(workspace, conversation, LeadPatch(email=lead.email))


@pytest.mark.parametrize("happens", [edit, write, come_again])
async def test_a_lead_that_changes_at_the_last_moment_stays(workspace, bot, monkeypatch, happens):
    with clock.at(clock.ago(days=90)):
        lead = await make.lead(workspace, bot)
    erase = erasure.erase_lead

    async def late(workspace, lead_id, **conditions):
        await happens(workspace, bot, lead)
        return await erase(workspace, lead_id, **conditions)

    monkeypatch.setattr(erasure, "erase_lead", late)
    await swept(workspace, leads=30)
    assert await db.value("SELECT id FROM lead") == lead.id


async def test_messages_are_blanked_and_their_conversation_stays(workspace):
    visitor = Visitor(await published(workspace, FLOW))
    with clock.at(clock.ago(days=31)):
        for said in ("Ada", "yes", EMAIL, "Never"):
            await visitor.says(said)
        await inbox.note(workspace, visitor.conversation, ids.new("user"), "Call Ada back")
    new = await ended(workspace, visitor.bot.id, 29)
    await swept(workspace, messages=30)
    said = await db.rows("SELECT DISTINCT content FROM message WHERE conversation_id = $1", visitor.conversation)
    assert [row["content"] for row in said] == ["[deleted]"]
    assert await db.value("SELECT content FROM message WHERE conversation_id = $1", new) == "Hello"
    assert await db.value("SELECT variables::text FROM conversation WHERE id = $1", visitor.conversation) == "{}"
    assert await count("conversation_note") == 0
    blanked = await db.rows("SELECT DISTINCT kind FROM event WHERE body = '' ORDER BY 1")
    assert [row["kind"] for row in blanked] == ["message.received", "message.sent"]
    assert (await count("lead"), await count("consent")) == (1, 2)


async def test_nothing_is_added_to_a_conversation_whose_messages_are_blanked(workspace, bot):
    """The sweep goes by the ends of conversations, and does not come there again."""
    old, new, user = await ended(workspace, bot, 31), await ended(workspace, bot, 29), ids.new("user")
    await swept(workspace, messages=30)
    with pytest.raises(Conflict, match="no longer kept"):
        await inbox.tag(workspace, old, "Ada")
    with pytest.raises(Conflict, match="no longer kept"):
        await inbox.note(workspace, old, user, "Ada")
    await inbox.tag(workspace, new, "Ada")
    await inbox.note(workspace, new, user, "Ada")


async def test_events_that_are_finished_are_blanked(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url, *EVENTS)
    with clock.at(clock.ago(days=3)):
        done = await make.lead(workspace, bot, email="done@example.com")
    receiver.answer, receiver.echo = 410, True
    await wire.turn()
    dead = await count("delivery_result", "state = 'dead'")
    assert dead > 0
    await db.rows("UPDATE webhook_endpoint SET enabled = true")
    with clock.at(clock.ago(days=3)):
        await make.lead(workspace, bot, email="waiting@example.com")
    moved = ids.floor("evt", clock.ago(days=3))[:14]
    for table, key in (("event", "id"), ("delivery", "event_id"), ("delivery_result", "event_id"),
                       ("attempt", "event_id"), ("outbox", "event_id")):  # fmt: skip
        await db.rows(f"UPDATE {table} SET {key} = $1 || substr({key}, 15)", moved)
    await make.lead(workspace, bot, email="new@example.com")
    await swept(workspace, events=2)
    bodies = " ".join(row["body"] for row in await db.rows("SELECT body FROM event"))
    assert [name for name in ("done@", "waiting@", "new@") if name in bodies] == ["waiting@", "new@"]
    assert await count("delivery_result", "state = 'dead'") == 0
    assert await count("delivery_result", "state = 'cancelled'") == dead
    assert await count("attempt", "response_body IS NOT NULL") == 0
    assert await count("lead", f"id = '{done.id}'") == 1
    assert await count("delivery") + await count("outbox") > 0


async def test_events_that_were_still_to_be_sent_are_blanked_in_the_round_after_they_are(
    workspace, bot, wire, receiver
):
    made = await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot, email="waiting@example.com")
    earlier = ids.floor("evt", clock.ago(days=3))[:14]
    for table, key in (("event", "id"), ("delivery", "event_id"), ("outbox", "event_id")):
        await db.rows(f"UPDATE {table} SET {key} = $1 || substr({key}, 15)", earlier)
    await swept(workspace, events=2)
    assert await count("event", "body LIKE '%waiting@%'") > 0, "what is still to be sent stays"
    await wire.turn()
    assert await count("delivery_result", f"state = 'delivered' AND endpoint_id = '{made.id}'") == 1
    await db.rows("UPDATE retention SET swept_at = swept_at - interval '2 days'")
    await sweep()
    assert await count("event", "body LIKE '%waiting@%'") == 0


async def test_events_that_cannot_be_blanked_hold_up_no_others(workspace, bot):
    for days in (5, 3):
        await make.lead(workspace, bot)
        earlier = ids.floor("evt", clock.ago(days=days))[:14]
        await db.rows(
            "UPDATE event SET id = $1 || substr(id, 15) WHERE id > $2", earlier, ids.floor("evt", clock.ago(days=1))
        )
    old = f"id < '{ids.floor('evt', clock.ago(days=4))}'"
    await retention.change(workspace, KEPT | {"events": 2})
    async with refused("event", "UPDATE", f"NEW.{old}"):
        for _ in range(60):
            await jobs.run("retention", early=True)
    assert await count("event", f"body = '' AND {old}") == 0
    assert await count("event", f"body <> '' AND NOT {old}") == 0
    assert await count("job", "kind = 'retention'") == 0
    await db.rows("UPDATE retention SET swept_at = swept_at - interval '2 days'")
    await sweep()
    assert await count("event", "body <> ''") == 0


async def test_another_workspace_keeps_its_own(workspace, bot):
    other = await accounts.create_workspace("Other")
    theirs = await bots.create(other, "Theirs")
    for place, one in ((workspace, bot), (other, theirs)):
        await ended(place, one, 50)
        await ended(place, one, 50, lead=True)
    await swept(workspace, conversations=30, leads=30, messages=20, lead_conversations=30, events=1)
    # A conversation whose lead has gone after those without one were looked at goes in the next round.
    await db.rows("UPDATE retention SET swept_at = swept_at - interval '2 days'")
    await sweep()
    for table in ("lead", "conversation", "message"):
        found = await db.rows(f"SELECT DISTINCT workspace_id FROM {table}")
        assert [row["workspace_id"] for row in found] == [other], table
    assert await count("event", f"body = '' AND workspace_id = '{other}'") == 0
    assert await count("message", "content = '[deleted]'") == 0


async def test_it_goes_on_where_it_was_interrupted(workspace, bot, monkeypatch):
    for name, most in (("_BATCH", 2), ("_LEADS", 2), ("_ERASED", 1)):
        monkeypatch.setattr(retention, name, most)
    for _ in range(5):
        await ended(workspace, bot, 50)
        await ended(workspace, bot, 50, lead=True)
    await retention.change(workspace, KEPT | {"conversations": 30, "leads": 30, "messages": 20})
    batches = []

    async def interrupted(*given):
        batches.append(given)
        if len(batches) % 2:
            raise ConnectionError
        return await batch(*given)

    batch = retention._batch
    monkeypatch.setattr(retention, "_batch", interrupted)
    for _ in range(30):
        await sweep()
        await jobs.make_due("retention")
    assert len(batches) >= 8
    assert (await count("lead"), await count("conversation", "lead_id IS NOT NULL")) == (0, 0)
    assert await count("message", "content <> '[deleted]'") == 0
    told = await db.rows("SELECT subject, detail FROM audit_entry WHERE action = 'retention.applied' ORDER BY subject")
    assert ("leads", "5") in [tuple(row) for row in told]


@pytest.mark.parametrize("days", [None, 60])
@pytest.mark.parametrize("kind", retention.KINDS)
async def test_a_setting_that_is_changed_before_a_batch_holds_at_once(workspace, bot, monkeypatch, kind, days):
    lead = await ended(workspace, bot, 50, lead=True)
    await ended(workspace, bot, 50)
    await db.rows("UPDATE event SET id = $1 || substr(id, 15)", ids.floor("evt", clock.ago(days=5))[:14])
    messages = await count("message")
    monkeypatch.setattr(retention, "_SPAN", timedelta(days=40))
    batch = retention._batch

    async def late(*given):
        await retention.change(workspace, KEPT | {kind: days if kind != "events" or days is None else 7})
        return await batch(*given)

    monkeypatch.setattr(retention, "_batch", late)
    await swept(workspace, **{kind: 2 if kind == "events" else 30})
    assert await db.value("SELECT id FROM lead") == lead.id
    assert await count("conversation") == 2
    assert await count("message", "content <> '[deleted]'") == messages
    assert await count("event", "body = ''") == 0


@pytest.mark.parametrize("kind", ["conversations", "lead_conversations", "leads"])
async def test_a_setting_that_is_changed_after_the_last_batch_is_swept_at_once(workspace, bot, monkeypatch, kind):
    """Its first round begins with the oldest, and the audit log tells of all that went."""
    monkeypatch.setattr(retention, "_LEADS", 3)
    for days in (20, 50, 10):
        await ended(workspace, bot, days, lead=kind != "conversations")
    batch = retention._batch

    async def early(*given):
        done = await batch(*given)
        monkeypatch.setattr(retention, "_batch", batch)
        await retention.change(workspace, KEPT | {kind: 15})
        return done

    monkeypatch.setattr(retention, "_batch", early)
    await swept(workspace, **{kind: 30})
    assert await count("lead" if kind == "leads" else "conversation") == 1
    assert await db.value("SELECT detail FROM audit_entry WHERE action = 'retention.applied'") == "2"


async def test_one_that_fails_holds_nobody_up(workspace, bot, monkeypatch, caplog):
    other = await accounts.create_workspace("Other")
    theirs = await bots.create(other, "Theirs")
    for place, one in ((workspace, bot), (other, theirs)):
        await ended(place, one, 50, lead=True)
    erase = erasure.erase_lead

    async def broken(place, lead_id, **versions):
        if place == workspace:
            raise ArithmeticError
        return await erase(place, lead_id, **versions)

    with monkeypatch.context() as patched:
        patched.setattr(erasure, "erase_lead", broken)
        await retention.change(other, KEPT | {"leads": 30})
        await swept(workspace, leads=30)
        assert await db.value("SELECT workspace_id FROM lead") == workspace
        assert "job.failed" in caplog.text
    await jobs.make_due("retention")
    await sweep()
    assert await count("lead") == 0


async def test_a_round_is_made_once_a_day_and_at_once_after_a_change(workspace, bot, db_clock):
    await swept(workspace, conversations=30)
    await ended(workspace, bot, 31)
    await sweep()
    assert await count("conversation") == 1
    await swept(workspace, conversations=29)
    assert await count("conversation") == 0
    await ended(workspace, bot, 31)
    await db.rows("UPDATE retention SET swept_at = swept_at - interval '25 hours'")
    await sweep()
    assert await count("conversation") == 0


async def test_a_clock_that_is_ahead_leaves_no_event_as_it_is(workspace, bot):
    await make.lead(workspace, bot)
    await db.rows("UPDATE event SET id = $1 || substr(id, 15)", ids.floor("evt", clock.ago(days=5))[:14])
    await retention.change(workspace, KEPT | {"events": 2})
    with clock.at(clock.ago(days=-45)):
        await sweep()
    await sweep()
    assert await count("event", "body <> ''") == 0


async def test_a_clock_that_is_ahead_makes_nothing_old(workspace, bot):
    await ended(workspace, bot, 5)
    await retention.change(workspace, KEPT | {"conversations": 30, "messages": 30})
    with clock.at(clock.ago(days=-365)):
        await sweep()
    assert await count("message", "content = 'Hello'") == 1


async def test_a_suspended_workspace_keeps_everything(workspace, bot):
    await ended(workspace, bot, 50)
    await workspaces.suspend(workspace)
    await swept(workspace, conversations=30)
    assert await count("conversation") == 1


async def test_what_another_process_holds_is_left_for_the_next_round(workspace, bot, servers):
    held, _ = await ended(workspace, bot, 50), await ended(workspace, bot, 50)
    other = await asyncpg.connect(servers.database_url)
    try:
        async with other.transaction():
            await other.execute("SELECT FROM conversation WHERE id = $1 FOR UPDATE", held)
            await swept(workspace, conversations=30)
        assert await db.value("SELECT id FROM conversation") == held
    finally:
        await other.close()


@pytest.mark.parametrize("days", [{"leads": 0}, {"leads": -1}, {"leads": 3651}, {"events": 31}, {"messages": 10**9}])
async def test_a_number_of_days_that_makes_no_sense_changes_nothing(workspace, days):
    with pytest.raises(Invalid) as refused:
        await retention.change(workspace, KEPT | {"conversations": 5} | days)
    assert [one.pointer for one in refused.value.errors] == [f"/{kind}" for kind in days]
    with pytest.raises(Invalid):
        await retention.preview(workspace, KEPT | days)
    assert await count("retention") == 0


async def test_a_change_says_what_is_different(workspace):
    assert (
        await retention.change(workspace, KEPT | {"leads": 30, "events": 7}) == "leads: kept -> 30; events: kept -> 7"
    )
    assert await retention.change(workspace, KEPT | {"leads": 60}) == "leads: 30 -> 60; events: 7 -> kept"
    assert await retention.change(workspace, KEPT | {"leads": 60}) == ""
    assert await retention.kept(workspace) == KEPT | {"leads": 60}


async def test_a_preview_says_how_many_and_the_oldest_and_whether_any_stay(workspace, bot):
    for days in (50, 40, 10):
        await ended(workspace, bot, days)
    lead = await ended(workspace, bot, 45, lead=True)
    found = await retention.preview(workspace, dict.fromkeys(retention.KINDS, 30))
    oldest = clock.ago(days=50)
    shown = {kind: (one.count, one.more, one.some_stay) for kind, one in found.items()}
    assert shown == {
        "conversations": (2, False, True), "lead_conversations": (1, False, False), "leads": (1, False, False),
        "messages": (3, False, True), "events": (0, False, True),
    }  # fmt: skip
    for kind in ("conversations", "messages"):
        assert abs(found[kind].oldest - oldest) < timedelta(minutes=5)
    assert clock.iso(found["leads"].oldest) == lead.created_at
    assert await retention.preview(workspace, KEPT) == {}
    await swept(workspace, messages=30)
    assert (await retention.preview(workspace, KEPT | {"messages": 20}))["messages"].count == 0
    assert (await retention.preview(workspace, KEPT | {"messages": 5}))["messages"].count == 1

"""Changes of leads: the merge, what it refuses, and the event beside each real change."""

import asyncio
import contextvars
from contextlib import suppress

import msgspec
import pytest

from leadwire.delivery import outbox
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.leads import changes, reads
from leadwire.domain.leads.schema import LeadPatch, custom_fields
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import Conflict, Invalid, NotFound
from tests import make
from tests.waiting import eventually


async def test_a_patch_that_changes_nothing_is_silent(workspace, bot):
    lead = await make.lead(workspace, bot)
    await make.emitted(forget=True)
    stored = await changes.update(workspace, lead.id, LeadPatch(name="Ada"), unchanged={})
    assert stored.version == 1
    assert await make.emitted() == []


async def test_a_change_and_its_event_are_one(workspace, bot):
    lead = await make.lead(workspace, bot, custom_fields={"plan": "pro"})
    await make.emitted(forget=True)
    stored = await changes.update(
        workspace, lead.id, LeadPatch(name="Grace", custom_fields={"plan": None, "seats": 5}), unchanged={}
    )
    assert stored.version == 2
    (event,) = await make.emitted()
    assert event["event"] == "lead.updated"
    assert event["data"]["name"] == "Grace"
    assert event["data"]["custom_fields"] == {"seats": 5}
    assert event["data"]["previous_attributes"] == {"name": "Ada", "custom_fields": {"plan": "pro", "seats": None}}


async def test_a_change_of_what_no_index_holds_writes_to_no_index_of_leads(workspace, bot):
    lead = await make.lead(workspace, bot)
    hot = "SELECT pg_stat_get_xact_tuples_hot_updated('lead'::regclass)"  # of this connection
    for patch, kept in ((LeadPatch(name="Grace", custom_fields={"a": "b"}), 1), (LeadPatch(score=60), 0)):
        async with db.transaction():
            before = await db.value(hot)
            await changes.update(workspace, lead.id, patch, unchanged={})
            assert await db.value(hot) - before == kept


async def test_a_failed_transaction_leaves_neither_change_nor_event(workspace, bot):
    lead = await make.lead(workspace, bot)
    await make.emitted(forget=True)
    with suppress(ZeroDivisionError):
        async with db.transaction():
            await changes.update(workspace, lead.id, LeadPatch(name="Grace"), unchanged={})
            raise ZeroDivisionError
    assert (await reads.stored(workspace, lead.id)).lead.name == "Ada"
    assert await make.emitted() == []


async def test_concurrent_patches_of_different_keys_all_stay(workspace, bot):
    lead = await make.lead(workspace, bot)
    await make.emitted(forget=True)
    await asyncio.gather(
        *(changes.update(workspace, lead.id, LeadPatch(custom_fields={f"key{n}": n}), unchanged={}) for n in range(20))
    )
    stored = await reads.stored(workspace, lead.id)
    assert custom_fields(stored.lead) == {f"key{n}": n for n in range(20)}
    assert stored.version == 21
    assert len(await make.emitted()) == 20


async def test_custom_fields_have_a_size_that_a_webhook_can_hold(workspace, bot):
    lead = await make.lead(workspace, bot)
    full = {f"key{n:02}": "x" * 1000 for n in range(12)}
    stored = await changes.update(workspace, lead.id, LeadPatch(custom_fields=full), unchanged={})
    with pytest.raises(Invalid) as refused:
        await changes.update(workspace, lead.id, LeadPatch(custom_fields={"one more": "😀" * 50}), unchanged={})
    assert [(fault.code, fault.pointer) for fault in refused.value.errors] == [("too_large", "/custom_fields")]
    assert (await reads.stored(workspace, lead.id)).version == stored.version
    await changes.update(workspace, lead.id, LeadPatch(name="Grace"), unchanged={})
    await changes.update(workspace, lead.id, LeadPatch(custom_fields={"key00": "y" * 1000}), unchanged={})
    assert len(custom_fields((await reads.stored(workspace, lead.id)).lead)) == 12


async def test_true_and_one_are_not_the_same_value(workspace, bot):
    lead = await make.lead(workspace, bot, custom_fields={"a": 1})
    stored = await changes.update(workspace, lead.id, LeadPatch(custom_fields={"a": True}), unchanged={})
    assert stored.version == 2


async def test_an_address_of_another_lead_is_a_conflict_that_names_it(workspace, bot):
    holder = await make.lead(workspace, bot)
    other = await make.lead(workspace, bot, email="bob@example.com")
    with pytest.raises(Conflict) as refused:
        await changes.update(workspace, other.id, LeadPatch(email="ADA@Example.com"), unchanged={})
    assert refused.value.code == "lead_conflict"
    assert refused.value.conflicting_id == holder.id


async def test_a_lead_stays_reachable(workspace, bot):
    lead = await make.lead(workspace, bot)
    with pytest.raises(Invalid):
        await changes.update(workspace, lead.id, LeadPatch(email=None), unchanged={})
    stored = await changes.update(workspace, lead.id, LeadPatch(email=None, phone="+44 20 7946 0000"), unchanged={})
    assert (stored.lead.email, stored.lead.phone) == (None, "+442079460000")


async def test_a_read_only_field_may_keep_its_value_only(workspace, bot):
    lead = await make.lead(workspace, bot)
    present = msgspec.to_builtins(lead)
    same = {name: present[name] for name in ("id", "bot_id", "source", "created_at", "conversation_id")}
    await changes.update(workspace, lead.id, LeadPatch(name="Grace"), unchanged=same)
    with pytest.raises(Invalid) as refused:
        await changes.update(workspace, lead.id, LeadPatch(), unchanged={"bot_id": "bot_other"})
    assert refused.value.code == "read_only_field"


async def test_fifty_custom_fields_and_no_more(workspace, bot):
    lead = await make.lead(workspace, bot)
    full = {f"k{n}": "v" for n in range(50)}
    await changes.update(workspace, lead.id, LeadPatch(custom_fields=full), unchanged={})
    with pytest.raises(Invalid):
        await changes.update(workspace, lead.id, LeadPatch(custom_fields={"one more": "v"}), unchanged={})


async def test_a_known_address_fills_blanks_and_overwrites_nothing(workspace, bot):
    first = await make.lead(workspace, bot, score=40, custom_fields={"plan": "pro"})
    await make.emitted(forget=True)
    again = await make.lead(
        workspace, bot, email="ADA@example.com", name="Mallory", company="Acorn", score=10,
        custom_fields={"plan": "free", "team": "5"},
    )  # fmt: skip
    assert again.id == first.id
    assert (again.name, again.company, again.score) == ("Ada", "Acorn", 40)
    assert again.custom_fields == {"plan": "pro", "team": "5"}
    assert (await make.kinds())[-1] == "lead.updated"


async def test_capturing_the_same_person_at_once_makes_one_lead(workspace, bot):
    leads = await asyncio.gather(*(make.lead(workspace, bot) for _ in range(8)))
    assert len({lead.id for lead in leads}) == 1
    assert (await make.kinds()).count("lead.created") == 1


async def test_another_workspaces_lead_is_not_there(workspace, bot):
    lead = await make.lead(workspace, bot)
    for attempt in (
        reads.stored("ws_other", lead.id),
        changes.update("ws_other", lead.id, LeadPatch(name="x"), unchanged={}),
    ):
        with pytest.raises(NotFound):
            await attempt


async def test_changes_that_come_while_one_is_committed_share_a_statement(workspace, bot, monkeypatch):
    leads = [await make.somebody(workspace, bot) for _ in range(10)]
    written = []
    fetch = db.DB.fetch
    # One task for both that are held: the first to go on ends what the other would have looked for.
    all_wait = asyncio.create_task(eventually(lambda: len(outbox._gathered(changes.UPDATE)._waiting) == 8))

    async def noted(sql, args):
        if sql == outbox._recording(changes.UPDATE).text:
            written.append(len(args[0]))
            if len(written) <= 2:  # two are made at once; what comes meanwhile is all that is left
                await all_wait
        return await fetch(sql, args)

    monkeypatch.setattr(db.DB, "fetch", noted)
    await make.emitted(forget=True)
    stored = await asyncio.gather(
        *[
            changes.update(workspace, lead.id, LeadPatch(name=f"Ada {number}"), unchanged={})
            for number, lead in enumerate(leads)
        ]
    )
    assert [(one.lead.name, one.version) for one in stored] == [(f"Ada {number}", 2) for number in range(10)]
    assert written == [1, 1, 8]
    assert len(await make.emitted()) == 10


def elsewhere(*work):
    """Begin each work outside the open transaction, and apart from the others."""
    loop = asyncio.get_running_loop()
    return [loop.create_task(one, context=contextvars.Context()) for one in work]


async def test_a_lead_that_somebody_holds_keeps_nobody_else_waiting(workspace, bot):
    held, *others = [await make.somebody(workspace, bot) for _ in range(8)]
    change = LeadPatch(name="Grace")
    async with db.transaction():
        await reads.stored(workspace, held.id, lock=True)
        waiting, *done = elsewhere(
            *[changes.update(workspace, lead.id, change, unchanged={}) for lead in (held, *others)]
        )
        assert {(await one).version for one in done} == {2}
        assert not waiting.done()
    assert (await waiting).version == 2


async def test_the_same_version_of_a_lead_is_changed_once(workspace, bot):
    lead = await make.lead(workspace, bot)
    await asyncio.gather(
        *[
            changes.update(workspace, lead.id, LeadPatch(custom_fields={f"key {number}": number}), unchanged={})
            for number in range(10)
        ]
    )
    stored = await reads.stored(workspace, lead.id)
    assert stored.version == 11
    assert custom_fields(stored.lead) == {f"key {number}": number for number in range(10)}


async def until_somebody_waits():
    """Until a connection waits for a lock of another one."""
    await eventually(lambda: db.value("SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"))


async def test_who_gives_an_address_that_a_lead_is_just_losing_is_a_lead_of_their_own(workspace, bot):
    before = await make.lead(workspace, bot, email="old@example.com", name=None)
    talk = await make.conversation(workspace, bot)
    async with db.transaction():
        await changes.update(workspace, before.id, LeadPatch(email="new@example.com"), unchanged={})
        (capturing,) = elsewhere(
            conversations.capture_lead(workspace, talk, LeadPatch(email="old@example.com", name="Stranger"))
        )
        await until_somebody_waits()
    made = await capturing
    assert made.id != before.id
    assert (made.email, made.name) == ("old@example.com", "Stranger")
    assert (await reads.stored(workspace, before.id)).lead.name is None


async def test_two_who_give_the_same_phone_number_at_once_are_one_lead(workspace, bot):
    talks = [await make.conversation(workspace, bot) for _ in range(5)]
    found = LeadPatch(phone="+41 44 668 18 00")
    made = await asyncio.gather(*[conversations.capture_lead(workspace, talk, found) for talk in talks])
    assert len({lead.id for lead in made}) == 1
    assert (await make.kinds()).count("lead.created") == 1


async def test_what_ends_with_a_lead_shows_it_as_the_change_before_left_it(workspace, bot):
    talk = await make.conversation(workspace, bot)
    lead = await conversations.capture_lead(workspace, talk, LeadPatch(email="ada@example.com"))
    async with db.transaction():
        await changes.update(workspace, lead.id, LeadPatch(name="Grace"), unchanged={})
        (ending,) = elsewhere(conversations.end(workspace, talk, "visitor"))
        await until_somebody_waits()
    await ending
    updated, ended = await db.rows("SELECT kind, body FROM event ORDER BY position DESC LIMIT 2")
    assert (ended["kind"], updated["kind"]) == ("lead.updated", "conversation.ended")
    assert '"name":"Grace"' in updated["body"]


async def test_an_address_that_is_taken_in_the_last_moment_is_said_whose_it_is(workspace, bot):
    first, second = [await make.somebody(workspace, bot) for _ in range(2)]
    async with db.transaction():
        await changes.update(workspace, first.id, LeadPatch(email="one@example.com"), unchanged={})
        (late,) = elsewhere(changes.update(workspace, second.id, LeadPatch(email="one@example.com"), unchanged={}))
        await until_somebody_waits()
    with pytest.raises(changes.LeadConflict) as caught:
        await late
    assert caught.value.conflicting_id == first.id

"""Documents follow what they are about; an erasure reaches them; searches find them by page."""

import asyncio
from contextvars import Context

import pytest
from msgspec import structs

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.changes import erasing, inbox
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.privacy import erasure
from leadwire.domain.search import changes, reads
from leadwire.domain.search import jobs as search
from leadwire.domain.search.query import parse
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.errors import InvalidParameter
from leadwire.infrastructure.jobs.reads import listed as jobs_listed
from tests import jobs, make
from tests.waiting import eventually


@pytest.fixture
def many(monkeypatch):
    """Every change is one of too many to be written at once."""
    monkeypatch.setattr(search, "DIRECT", 0)


async def indexed():
    await jobs.run("search.take", "search")


async def found(workspace, text, kind="conversation", **place):
    return (await reads.page(workspace, kind, parse(text, {}), **place)).items


async def operator(workspace):
    await db.rows(
        "INSERT INTO user_account (id, workspace_id, email, role, created_at) VALUES ($1, $2, $1, 'agent', now())",
        f"user_{workspace[3:]}", workspace,
    )  # fmt: skip
    return f"user_{workspace[3:]}"


@pytest.fixture
async def talk(workspace, bot):
    made = await make.conversation(workspace, bot)
    await conversations.add_message(workspace, made, "user", "Mein Kühlschrank ist kaputt, was tun?")
    await conversations.add_message(workspace, made, "bot", "I am sorry to hear that.")
    return made


async def test_what_was_said_is_found_in_any_case_without_accents_and_by_its_beginning(workspace, talk):
    await indexed()
    for text in ("kuhlschrank", "KÜHLSCHRANK kaputt", "kühl", "küh", '"ist kaputt"', "sorry status:active"):
        assert await found(workspace, text) == [talk], text
    for text in ("schrank", '"kaputt ist"', "kühlschrank status:ended", "kühlschrank tag:vip", '"kühl"', "kü"):
        assert await found(workspace, text) == [], text


async def test_a_new_message_state_and_tag_are_found(workspace, talk):
    await indexed()
    await conversations.add_message(workspace, talk, "user", "Nachtrag")
    await db.rows("UPDATE conversation SET tags = '{VIP}' WHERE id = $1", talk)
    await indexed()
    assert await found(workspace, "nachtrag tag:vip") == [talk]
    await conversations.end(workspace, talk, "visitor")
    await indexed()
    assert await found(workspace, "nachtrag status:ended") == [talk]
    assert await found(workspace, "nachtrag status:active") == []


async def test_a_change_of_no_searched_word_queues_nothing_and_several_are_one_job(workspace, bot, many):
    lead = await make.lead(workspace, bot)
    await indexed()
    await leads.update(workspace, lead.id, LeadPatch(score=7), unchanged={})
    assert await db.value("SELECT count(*) FROM search_due") == 0
    for name in ("Grace", "Joan", "Edith"):
        await leads.update(workspace, lead.id, LeadPatch(name=name), unchanged={})
    assert await db.value("SELECT count(*) FROM search_due") == 3
    await jobs.run("search.take")
    assert [(one.kind, one.key) for one in await jobs_listed("search")] == [("search", lead.id)]


async def test_notes_are_found_by_themselves(workspace, talk):
    await inbox.note(workspace, talk, await operator(workspace), "Promised a refund")
    await indexed()
    (note,) = await reads.notes(workspace, await found(workspace, "refund", "note"))
    assert (note["conversation_id"], note["content"]) == (talk, "Promised a refund")
    assert await found(workspace, "refund") == []


async def test_leads_are_found_by_parts_of_names_and_addresses_and_by_custom_fields(workspace, bot):
    lead = await make.lead(workspace, bot, email="grace.hopper@navy.example", name="Grace Brewster Hopper")
    await leads.update(
        workspace, lead.id, LeadPatch(phone="+44 20 7946 0000", custom_fields={"plan": "Gold"}), unchanged={}
    )
    await indexed()
    for text in ("rewst", "hopper@navy", "gold", "7946", "grace hopp", "hopp grace"):
        assert await found(workspace, text, "lead") == [lead.id], text
    for text in ("silver", "gol", "ho"):
        assert await found(workspace, text, "lead") == [], text
    await leads.update(workspace, lead.id, LeadPatch(custom_fields={"plan": "Silver"}), unchanged={})
    await indexed()
    assert await found(workspace, "silver", "lead") == [lead.id]
    assert await found(workspace, "gold", "lead") == []


async def test_nobody_finds_what_is_of_another_workspace(workspace, talk):
    other = await accounts.create_workspace("Other")
    theirs = await make.conversation(other, await bots.create(other, "Theirs"))
    await conversations.add_message(other, theirs, "user", "Kühlschrank")
    await indexed()
    assert await found(workspace, "kühlschrank") == [talk]
    assert await found(other, "kühlschrank") == [theirs]
    assert await reads.conversations(workspace, [theirs], parse("kühlschrank", {}).pattern) == []


async def test_an_erased_person_is_in_no_document(workspace, bot):
    lead = await make.lead(workspace, bot, email="zaphodine@example.com", name="Zaphodine")
    await conversations.add_message(workspace, lead.conversation_id, "user", "I am Zaphodine Quixotova")
    await inbox.note(workspace, lead.conversation_id, await operator(workspace), "Zaphodine is nice")
    await indexed()
    assert await found(workspace, "zaphodine") == [lead.conversation_id]
    await erasure.erase_lead(workspace, lead.id)
    assert await documents() == []  # at once
    await indexed()
    assert await found(workspace, "status:active") == [lead.conversation_id]
    left = str(await documents())
    assert not [word for word in ("zaphodine", "quixotova", "=zap", "deleted") if word in left]


async def test_what_retention_blanks_or_deletes_is_in_no_document(workspace, talk):
    await indexed()
    async with db.transaction():
        await erasing.blank(workspace, [talk])
    assert await documents() == []
    await indexed()
    assert "kaputt" not in str(await documents())
    async with db.transaction():
        await erasing.delete(workspace, [talk])
    assert await documents() == []


async def test_an_erasure_waits_for_who_is_writing(workspace, bot, monkeypatch):
    """Else what was read before the erasure would be written after it."""
    lead = await make.lead(workspace, bot, name="Zaphodine")
    read, go_on = asyncio.Event(), asyncio.Event()
    made = search._made

    def slow(*given):
        read.set()
        asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(60)
        return made(*given)

    loop = asyncio.get_running_loop()
    with monkeypatch.context() as patched:
        patched.setattr(search, "_made", slow)
        writing = asyncio.create_task(indexed())
        await asyncio.wait_for(read.wait(), 240)
        erasing = asyncio.create_task(erasure.erase_lead(workspace, lead.id))
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        await eventually(lambda: db.value(waiting))
        go_on.set()
        await asyncio.gather(writing, erasing)
    await indexed()
    assert "zaphodine" not in str(await documents())


async def test_a_page_goes_on_where_the_one_before_ended(workspace, bot, monkeypatch):
    made = [await make.conversation(workspace, bot) for _ in range(7)]
    await indexed()
    for few in (100, 2):  # by the index, and by walking
        monkeypatch.setattr(reads, "FEW", few)
        monkeypatch.setattr(reads, "_FIRST", structs.replace(reads._NEWEST, looked_at=2))
        seen, after = [], ""
        while after is not None:
            page = await reads.page(workspace, "conversation", parse("hello", {}), after, 3)
            seen, after = seen + page.items, page.after
        assert seen == made[::-1]
    assert await found(workspace, f"hello after:{clock.now():%Y-%m-%d}") == []
    with pytest.raises(InvalidParameter):
        await found(workspace, "hello", after="x")


async def documents():
    return [row[0] for row in await db.rows("SELECT d::text FROM search_document d")]


async def test_a_document_that_fails_holds_up_no_other(workspace, bot, monkeypatch):
    other = await accounts.create_workspace("Other")
    bad, good = [await make.conversation(workspace, bot) for _ in range(2)]
    theirs = await make.conversation(other, await bots.create(other, "Theirs"))
    made = search._made

    def failing(place, kind, rows):
        if bad in [row["id"] for row in rows]:
            raise KeyError(bad)
        return made(place, kind, rows)

    with monkeypatch.context() as patched:
        patched.setattr(search, "_made", failing)
        await indexed()
    assert await found(workspace, "hello") == [good]
    assert await found(other, "hello") == [theirs]
    assert [(job.key, job.tries) for job in await jobs_listed("search")] == [(bad, 1)]
    await jobs.make_due("search")
    await indexed()
    assert await found(workspace, "hello") == [good, bad]


async def test_who_erases_in_one_workspace_holds_up_no_other(workspace, talk):
    other = await accounts.create_workspace("Other")
    theirs = await make.conversation(other, await bots.create(other, "Theirs"))
    async with db.transaction():
        await changes._WAIT.rows(workspace=workspace)
        await asyncio.create_task(indexed(), context=Context())
    assert await found(other, "hello") == [theirs]
    assert await found(workspace, "kaputt") == []
    await jobs.make_due("search")
    await indexed()
    assert await found(workspace, "kaputt") == [talk]


async def test_several_changes_of_a_conversation_are_written_once(workspace, talk, many):
    assert await db.value("SELECT count(*) FROM search_due") > 2
    await jobs.run("search.take")
    assert [job.key for job in await jobs_listed("search")] == [talk]


async def test_a_change_of_nothing_that_is_searched_is_not_noted(workspace, talk):
    await indexed()
    for change in ("snoozed_until = now()", "updated_at = now()", "assigned_to = NULL", "seen_by_agent_seq = 1"):
        await db.rows(f"UPDATE conversation SET {change} WHERE id = $1", talk)
    assert await db.value("SELECT count(*) FROM search_due") == 0
    await db.rows("UPDATE conversation SET visitor_name = 'Zaphodine' WHERE id = $1", talk)
    assert await db.value("SELECT count(*) FROM search_due") == 1


async def test_few_changes_are_written_without_jobs(workspace, talk):
    await jobs.run("search.take")
    assert await jobs_listed("search") == []
    assert await found(workspace, "kaputt") == [talk]


async def test_what_is_new_is_found_before_what_waits_since_long(workspace, bot, many, monkeypatch):
    monkeypatch.setattr(search, "MOST", 10)
    await db.rows(
        "INSERT INTO search_due (workspace_id, subject) SELECT $1, 'lead_' || generate_series(1, 300)", workspace
    )
    await jobs.run("search.take")
    assert await db.value("SELECT count(*) FROM job WHERE kind = 'search'") == 10
    new = await make.conversation(workspace, bot)
    await jobs.run("search")
    await jobs.run("search.take")
    await jobs.run("search")
    assert await found(workspace, "hello") == [new]
    assert await db.value("SELECT count(*) FROM search_due") > 200


async def test_what_was_noted_long_ago_or_late_is_found(workspace, talk, monkeypatch):
    await db.rows("SELECT setval('search_due_number_seq', nextval('search_due_number_seq') + 20000)")
    await indexed()
    monkeypatch.setattr(search, "_next_full_look", 0.0)
    await indexed()
    assert await found(workspace, "kaputt") == [talk]

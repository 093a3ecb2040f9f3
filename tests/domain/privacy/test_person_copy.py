"""A copy of all that is known of a person: a row of every table that names them, of nobody else, and no secret."""

import json

import pytest

from leadwire.delivery.envelope import KINDS
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.bots.changes import visitor_sessions
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.changes import inbox
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.mail import changes as mail
from leadwire.domain.privacy import person_copy
from leadwire.infrastructure import db, ids
from leadwire.infrastructure.errors import NotFound
from tests import make
from tests.delivery.wired import endpoint
from tests.domain.bots.conftest import Visitor, published
from tests.domain.bots.test_consents import EMAIL, FLOW

NAMED = """
SELECT DISTINCT relname FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
    AND attname IN ('lead_id', 'conversation_id', 'event_id', 'about') AND NOT attisdropped"""
NOT_SHOWN = {"outbox", "delivery", "delivery_result", "conversation_read"}
"""Tables that name somebody and are not shown: work of the relay (the view of both is), and what people have read."""
SHOWN = {
    "message": "messages", "conversation_note": "notes", "score_entry": "scores", "visit": "visits",
    "blocked_visitor": "blocks", "attempt": "attempts", "event": "events", "consent": "consents", "mail": "mails",
}  # fmt: skip
"""By table, the list that has its rows."""
MAIL = """
INSERT INTO mail (id, workspace_id, about, kind, recipient, data, state, priority, created_at)
VALUES ($1, $2, $3, 'transcript', $4, 'sealed', 'waiting', 1, now())"""


MORE = {
    "attempt": "event_id IN (SELECT id FROM event WHERE workspace_id = $3)",
    "mail": "workspace_id = $3",
}
"""Rows of a table that name neither the lead nor the conversation."""
NONE = "$3 = '-'"


async def exported(workspace, lead_id):
    return json.loads(b"".join([chunk async for chunk in person_copy.as_json(workspace, lead_id)]))


def rows_in(document, name):
    """The rows of a list of the document, wherever it is."""
    if isinstance(document, dict):
        mine = document.get(name)
        return (mine if isinstance(mine, list) else []) + [
            row for one in document.values() for row in rows_in(one, name)
        ]
    return [row for one in document for row in rows_in(one, name)] if isinstance(document, list) else []


@pytest.fixture
async def full(workspace, wire, receiver):
    """Somebody of whom there is a row in every table, and somebody else of whom there is as much."""
    made = []
    for place in (workspace, await accounts.create_workspace("Other")):
        secret = (await endpoint(place, f"{receiver.url}/hidden-in-the-path", *KINDS)).secret
        bot = await published(place, FLOW.replace('label = "Yes, please",', 'label = "Yes, please", score = 7,'))
        visitor = Visitor(bot)
        for said in ("Ada", "yes", EMAIL):
            await visitor.says(said)
        user = ids.new("user")
        await db.rows(
            "INSERT INTO user_account (id, workspace_id, email, role, created_at) VALUES ($1, $2, $3, 'agent', now())",
            user, place, f"{user}@example.com",
        )  # fmt: skip
        await inbox.note(place, visitor.conversation, user, "Call her back")
        await visitor_sessions.block(place, visitor.conversation, user)
        for recipient, about in (
            (EMAIL, visitor.conversation),
            ("desk@example.com", visitor.conversation),
            (EMAIL, None),
        ):
            await db.rows(MAIL, ids.new("mail"), place, about, recipient)
        lead = await db.value("SELECT id FROM lead WHERE workspace_id = $1", place)
        await leads.update(place, lead, LeadPatch(company="Acorn"), unchanged={})
        made.append((place, lead, visitor.conversation, secret))
    await wire.turn()
    await leads.update(workspace, made[0][1], LeadPatch(company="Beacon"), unchanged={})  # still to be sent
    return made


async def test_every_table_that_names_a_person_is_known(database):
    found = {row["relname"] for row in await db.rows(NAMED)}
    assert found == set(SHOWN) | NOT_SHOWN | {"lead", "conversation"}


async def test_a_row_of_each_is_there_and_none_of_anybody_else(full):
    (workspace, lead, conversation, _), (other, theirs, their_conversation, _) = full
    document = await exported(workspace, lead)
    assert (document["lead"]["email"], document["lead"]["company"]) == (EMAIL, "Beacon")
    assert [one["id"] for one in document["conversations"]] == [conversation]
    for table, name in SHOWN.items():
        rows = await db.value(
            f"SELECT count(*) FROM {table} t WHERE t::text LIKE '%' || $1 || '%' OR t::text LIKE '%' || $2 || '%'"
            f" OR {MORE.get(table, NONE)}",
            lead, conversation, workspace,
        )  # fmt: skip
        assert rows > 0, table
        assert len(rows_in(document, name)) == rows, table
    deliveries = rows_in(document, "deliveries")
    assert {one["state"] for one in deliveries} == {"delivered", "queued"}
    assert {one["host"] for one in deliveries} == {"127.0.0.1"}
    bodies = [one["body"]["event"] for one in document["events"]]
    assert {"lead.created", "lead.updated", "conversation.started", "message.received"} <= set(bodies)
    assert bodies.count("lead.updated") == 2
    text = json.dumps(document)
    assert [one for one in (other, theirs, their_conversation) if one in text] == []


async def test_no_secret_is_there(full):
    workspace, lead, conversation, secret = full[0]
    text = json.dumps(await exported(workspace, lead))
    visit = await db.row("SELECT token_hash, start_key, address FROM visit WHERE conversation_id = $1", conversation)
    assert [
        one for one in (secret, "hidden-in-the-path", *(part.hex() for part in visit if len(part) > 8)) if one in text
    ] == []


async def test_somebody_of_whom_nothing_is_known(workspace, bot):
    lead = await make.lead(workspace, bot)
    for place, lead_id in (("ws_other", lead.id), (workspace, ids.new("lead")), (workspace, "x")):
        with pytest.raises(NotFound):
            await exported(place, lead_id)
    await db.rows("DELETE FROM conversation")
    await db.rows("DELETE FROM event")
    document = await exported(workspace, lead.id)
    assert (document["consents"], document["conversations"], document["events"]) == ([], [], [])


async def test_ten_thousand_messages_come_one_conversation_at_a_time(workspace, bot):
    lead = await make.lead(workspace, bot)
    for _ in range(9):
        again = await make.conversation(workspace, bot)
        await conversations.capture_lead(workspace, again, LeadPatch(email=lead.email))
    await db.rows(
        "INSERT INTO message (id, workspace_id, conversation_id, seq, role, content, created_at)"
        " SELECT 'msg_' || c.id || n, workspace_id, c.id, n, 'user', repeat('x', 500), now()"
        " FROM conversation c, generate_series(2, 1000) n"
    )
    chunks = [chunk async for chunk in person_copy.as_json(workspace, lead.id)]
    assert len(rows_in(json.loads(b"".join(chunks)), "messages")) == 10_000
    assert max(map(len, chunks)) < 1_000_000


async def test_a_bot_of_a_name_that_is_no_id_is_no_fault(workspace):
    await bots.create(workspace, "x" * 100)
    with pytest.raises(NotFound):
        await exported(workspace, "' OR true --")


@pytest.mark.parametrize("events", ["kept", "gone"])
async def test_what_names_an_address_that_they_had_before_is_in_it(workspace, bot, mailing, events):
    lead = await make.lead(workspace, bot, email="former@example.com")
    await mail.suppress(workspace, "former@example.com", "550 5.1.1 unknown")
    await leads.update(workspace, lead.id, LeadPatch(email="present@example.com"), unchanged={})
    if events == "gone":
        await db.rows("DELETE FROM event")
    else:
        await db.rows("UPDATE conversation SET visitor_email = NULL")
    assert [row["address"] for row in (await exported(workspace, lead.id))["mails"]] == ["former@example.com"]

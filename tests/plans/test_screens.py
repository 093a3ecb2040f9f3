"""The screens among very many rows: what their statements read does not grow with how much there is."""

from datetime import timedelta
from functools import partial

import pytest

from leadwire.delivery.outbox import Event
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.audit import reads as log
from leadwire.domain.bots import figures
from leadwire.domain.bots import reads as bots
from leadwire.domain.conversations import figures as conversation_figures
from leadwire.domain.conversations import reads as conversations
from leadwire.domain.conversations.reads import ConversationSearch
from leadwire.domain.leads import history as lead_history
from leadwire.domain.leads import reads as leads
from leadwire.domain.leads.reads import LeadSearch
from leadwire.domain.listing import keyset
from leadwire.domain.webhooks import history as deliveries
from leadwire.domain.webhooks import reads as webhooks
from leadwire.domain.workspaces import usage
from leadwire.infrastructure import clock, db, ids
from tests import statements
from tests.plans import crowd as crowds
from tests.plans.explained import explained, vacuum

_LEAD, _TALK = f"lead_{77:026}", f"conv_{77:026}"
_EVENTS = """
INSERT INTO event (id, workspace_id, kind, body, occurred_at, lead_id, conversation_id)
SELECT overlay(id PLACING lpad(n::text, 6, '0') FROM 25), workspace_id, kind, body, occurred_at,
    'lead_' || lpad((n % 5000)::text, 26, '0'), 'conv_' || lpad((n % 5000)::text, 26, '0')
FROM (SELECT * FROM event WHERE id = $1) one, generate_series(1, 20000) n
ON CONFLICT DO NOTHING -- its own id may end with one of these numbers"""
# Most have ended; some are still to be sent.
_RESULTS = """
INSERT INTO delivery_result (event_id, endpoint_id, workspace_id, state, attempts, generation, test, created_at,
    finished_at)
SELECT id, 'we_1', workspace_id, 'delivered', 1, 1, false, now(), now() FROM event"""
_OPEN = """
INSERT INTO delivery (event_id, endpoint_id, workspace_id, state, due_at)
SELECT id, 'we_2', workspace_id, 'waiting', now() FROM event ORDER BY id DESC LIMIT 5000"""
_AUDIT = """
INSERT INTO audit_entry (id, workspace_id, at, actor, action, subject, detail, address)
SELECT 'aud_' || lpad(n::text, 26, '0'), $1, now(), 'u' || n % 20, 'thing.' || n % 40, 's' || n % 30, '', ''
FROM generate_series(1, 20000) n"""


@pytest.fixture(scope="module")
async def crowd(servers, connected):
    async with crowds.crowd(servers.database_url, 20_000) as crowd:
        workspace = crowd.workspace
        async with db.transaction():
            event = Event(workspace=workspace, kind="lead.created", at=clock.now(), data={}, lead_id="x")
            first = await event.record()
        await db.rows(_EVENTS, first)
        await db.rows(_RESULTS)
        await db.rows(_OPEN)
        await db.rows("UPDATE conversation SET lead_id = 'lead_' || substr(id, 6)")
        await db.rows(_AUDIT, workspace)
        await vacuum("event", "delivery", "delivery_result", "conversation", "audit_entry")
        yield crowd


def reads_of(crowd):
    """Each read of a screen, and how many rows it may touch at the most."""
    workspace, rare = crowd.workspace, crowd.rare_bot
    events = [f"evt_{n:026}" for n in range(50)]
    everything = {"kinds": list(deliveries.EVERY_KIND), "before": "evu", "until": "evu", "first": 0, "end": None}
    newest = partial(deliveries._NEWEST.rows, workspace=workspace, limit=51, **everything)
    best = LeadSearch(sort="score", after=f"50.1770000000000.{_LEAD}")
    return {
        "leads": (partial(leads.search, workspace, LeadSearch()), 200),
        "best leads": (partial(leads.search, workspace, best), 200),
        "leads of a bot": (partial(leads.search, workspace, LeadSearch(bot_id=rare)), 200),
        "best leads of a bot": (partial(leads.search, workspace, LeadSearch(bot_id=rare, sort="score")), 200),
        "leads by e-mail": (partial(leads.with_email, workspace, "77@example.com"), 200),
        "conversations": (partial(conversations.search, workspace, ConversationSearch(status="active")), 200),
        "openers": (partial(conversations.openers, [_TALK]), 200),
        "a lead's conversations": (partial(conversations.of_lead, workspace, _LEAD), 50),
        "a lead's score": (partial(bots.score_of, workspace, _LEAD), 50),
        "a lead's events": (partial(lead_history.of, workspace, _LEAD), 50),
        "a conversation's events": (partial(conversations.events, workspace, _TALK), 50),
        "their deliveries": (partial(webhooks.states_of, workspace, events), 200),
        "newest deliveries": (partial(newest, since="evt_"), 300),
        "deliveries since": (partial(newest, since=ids.floor("evt", clock.ago(days=1))), 300),
        "deliveries about a lead": (
            partial(deliveries._events, workspace, deliveries.Filter(subject=_LEAD), "", 51), 50),
        "audit log": (partial(log.page, workspace, log.LogQuery()), 200),
        "audit log of one": (partial(log.page, workspace, log.LogQuery(actor="u3")), 200),
        "audit log of a thing": (partial(log.page, workspace, log.LogQuery(subject="s3")), 200),
        "audit log of a day": (partial(log.page, workspace, log.LogQuery(since=clock.now(), until=clock.now())), 200),
        "audit log of a kind": (partial(log.page, workspace, log.LogQuery(action="thing.3")), 200),
        "actors": (partial(log.named, workspace, "actor"), 200),
    }  # fmt: skip


async def test_what_a_screen_reads_does_not_grow(crowd):
    for name, (read, most) in reads_of(crowd).items():
        nodes = await explained(read)
        read_something = [node for node in nodes if node["Actual Rows"] + node.get("Rows Removed by Filter", 0)]
        assert not {node["Node Type"] for node in read_something} & {"Seq Scan", "Incremental Sort", "Gather"}, name
        touched = sum(
            (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"] for node in nodes
        )
        assert touched <= most * 3, (name, touched)  # a row is counted once in each node it passes


async def test_what_workspaces_have_is_counted_up_to_a_number_only(crowd):
    small = await accounts.create_workspace("Small")  # the last: with few rows, or none, in tables that are large
    values = {"after": "", "limit": 51, "most": 100, "now": clock.now()}
    for workspace in (crowd.workspace, small):
        nodes = await explained(partial(usage._SQL["counts"].rows, id=workspace, **values))
        scans = [node for node in nodes if node.get("Relation Name", "").startswith(("lead", "conversation", "event"))]
        touched = sum(
            (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"] for node in scans
        )
        assert touched <= 4 * 101 + 38, (workspace == small, touched)


async def test_a_search_looks_at_no_more_than_it_says(crowd, monkeypatch):
    monkeypatch.setattr(keyset, "LOOKED_AT", 500)
    found = await leads.search(crowd.workspace, LeadSearch(q="nobody"))
    assert found.stopped
    with statements.sent() as sent:
        await leads.search(crowd.workspace, LeadSearch(q="nobody", after=found.after))
    [(sql, args)] = sent
    nodes = await explained(lambda: db.rows(sql, *args))
    scans = [node for node in nodes if node.get("Relation Name") == "lead"]
    assert len(scans) == 2  # the search, and where it stopped
    assert all(node["Actual Rows"] + node.get("Rows Removed by Filter", 0) <= 500 for node in scans)


async def test_conversations_are_found_by_the_search_screen(crowd):
    found = await conversations.search(crowd.workspace, ConversationSearch(status="handoff"))
    assert {talk.status for talk in found.items} == {"handoff"}


_DAYS = """
INSERT INTO bot_count (bot_id, day, kind, name, total)
SELECT b.id, current_date - n / 40, kind, 'name ' || n % 40, 1
FROM bot b, generate_series(0, 4000) n, unnest(ARRAY['entered', 'source']) kind WHERE b.workspace_id = $1"""
_ASKED = """
UPDATE conversation SET handoff_requested_at = created_at, handoff_reason = 'asked', rating = 5
WHERE status = 'handoff'"""


async def test_what_reports_read_is_what_is_counted_by_day_and_who_asked(crowd):
    workspace, rare = crowd.workspace, crowd.rare_bot
    await db.rows(_DAYS, workspace)
    await db.rows(_ASKED)
    await vacuum("bot_count", "conversation")
    week, all_days = clock.ago(days=7), crowds.FIRST_DAY
    for name, read in {
        "sums of a bot": partial(figures.sums, workspace, rare, week.date(), 7),
        "steps of a bot": partial(figures.steps, workspace, rare, week),
        "responses": partial(conversation_figures.responses, workspace, None, all_days, clock.now()),
        "waiting": partial(conversation_figures.waiting, workspace, None),
        "ratings": partial(conversation_figures.ratings, workspace, None, all_days, timedelta(days=30)),
    }.items():
        nodes = await explained(read)
        assert not {node["Node Type"] for node in nodes if node["Actual Rows"] > 20} & {"Seq Scan", "Gather"}, name
        touched = sum(
            (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"] for node in nodes
        )
        assert touched <= 4000, (name, touched)

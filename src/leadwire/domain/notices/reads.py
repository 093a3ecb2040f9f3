"""Who is told what, and what has happened since they were told last. Rows are for the texts of mails.

What is looked for over all workspaces is behind an index that holds only endpoints in trouble and visitors who wait.
"""

from typing import Final

from leadwire.delivery.endpoints.table import FAILING_DAYS
from leadwire.domain.accounts import reads as accounts
from leadwire.domain.accounts import tickets
from leadwire.domain.accounts.schema import Person, Role
from leadwire.domain.conversations import reads as conversations
from leadwire.domain.conversations.schema import ConversationDetail, ConversationNotFound
from leadwire.domain.mail import reads as mail
from leadwire.domain.notices.schema import MOST_DEAD, OFFERS, Address, Kind, Offer, by_default, offered
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import sql

TRANSCRIPT: Final = "transcript"
"""The purpose of a link to what was said."""
_WHO: Final = {"bot": "Assistant", "agent": "Team", "user": "You"}


_UNTOLD: Final = """NOT EXISTS (SELECT 1 FROM notice n
    WHERE (n.kind, n.workspace_id, n.subject) = ('{}', found.workspace_id, found.id) AND n.state = found.state)"""
# Endpoints in another state than people were told. A single failed attempt is no trouble. One works when nothing has
# failed since its last success, or since a person has enabled it. One is `ending` on the day before it may be disabled.
# `due`: reason enough for a mail, which tells of all.
_ENDPOINTS: Final = f"""
SELECT * FROM (
    SELECT e.workspace_id, e.id, e.url, e.failing_since AS since, e.disabled_reason AS reason,
        e.failing_since + interval '{FAILING_DAYS} days' AS until,
        CASE WHEN NOT e.enabled THEN 'disabled'
            WHEN e.failing_since <= now() - interval '{FAILING_DAYS - 1} days' THEN 'ending'
            ELSE 'failing' END AS state,
        NOT e.enabled OR e.failures >= 3 AND e.failing_since <= now() - interval '5 minutes' AS due
    FROM webhook_endpoint e WHERE (e.failing_since IS NOT NULL OR e.disabled_reason IN ('gone', 'failing'))
      AND CASE WHEN e.enabled THEN e.failures >= 2 ELSE e.disabled_reason IN ('gone', 'failing') END
    UNION ALL
    SELECT e.workspace_id, e.id, e.url, n.at, NULL, NULL, 'working', true
    FROM notice n JOIN webhook_endpoint e ON e.id = n.subject
    WHERE n.kind = 'endpoints' AND n.subject <> '' AND e.enabled AND e.failing_since IS NULL
) AS found WHERE {_UNTOLD.format("endpoints")}"""
# Visitors who have waited for a minute, and of whom nobody was told since they asked.
_WAITING: Final = f"""
SELECT * FROM (
    SELECT c.workspace_id, c.id, b.name AS bot, c.handoff_requested_at AS since, c.handoff_requested_at::text AS state,
        true AS due
    FROM conversation c JOIN bot b ON b.id = c.bot_id
    WHERE c.status = 'handoff' AND c.assigned_to IS NULL AND c.handoff_requested_at <= now() - interval '1 minute'
) AS found WHERE {_UNTOLD.format("waiting")}"""
# Deliveries that died within a time. A minute ago no transaction is open any more that began before. Their events are
# of the last days: one that died later than that after its event is not counted.
_RECENT: Final = "d.state = 'dead' AND d.event_id >= :first"
_DEAD: Final = f"""FROM delivery_result d WHERE d.workspace_id = {{}} AND {_RECENT} AND NOT d.test
    AND d.finished_at > {{}} - interval '1 minute' AND d.finished_at <= {{}}"""
# From one workspace that has dead letters to the next along the index: the others are not read.
_DYING: Final = f"""
WITH RECURSIVE found(id) AS (
    SELECT min(d.workspace_id) FROM delivery_result d WHERE {_RECENT}
    UNION ALL SELECT (SELECT min(d.workspace_id) FROM delivery_result d WHERE {_RECENT} AND d.workspace_id > found.id)
    FROM found WHERE found.id IS NOT NULL
) SELECT id FROM found"""

_DUE: Final = """
SELECT w.id FROM workspace w LEFT JOIN notice n ON (n.kind, n.workspace_id, n.subject) = ('{}', w.id, '')
WHERE coalesce(n.at <= now() - :pause::interval, true) AND {} ORDER BY w.id"""
_AMONG: Final = "w.id = ANY(ARRAY(SELECT workspace_id FROM ({}) AS news WHERE due))"
_FOUND: Final = "SELECT * FROM ({}) AS news WHERE workspace_id = :workspace ORDER BY since, id"
# Workspaces that had no mail of the kind for a while, and where there is something to tell. The first dead letter waits
# for those that come with it.
_WORKSPACES: Final = {
    "endpoints": sql(_DUE.format("endpoints", _AMONG.format(_ENDPOINTS))),
    "waiting": sql(_DUE.format("waiting", _AMONG.format(_WAITING))),
    "dead_letters": sql(
        _DUE.format(
            "dead_letters",
            "w.id = ANY(ARRAY({})) AND EXISTS (SELECT 1 {})".format(
                _DYING,
                _DEAD.format("w.id", "coalesce(n.at, now() - interval '1 day')", "now() - interval '5 minutes'"),
            ),
        )
    ),
}
# What there is to tell; of dead letters, those between the mail before and the one that is being written. `news`: those
# that are no `delivery.dead`, which an event of that kind would follow again and again.
_NEWS: Final = {
    "endpoints": sql(_FOUND.format(_ENDPOINTS)),
    "waiting": sql(_FOUND.format(_WAITING)),
    "dead_letters": sql(f"""
SELECT e.id, e.url, count(*) AS count, NULL AS state, count(*) FILTER (WHERE dead.event_id <> ALL(ARRAY(SELECT v.id
    FROM event v WHERE v.workspace_id = :workspace AND v.kind = 'delivery.dead' AND v.id >= :first))) AS news
FROM notice n CROSS JOIN LATERAL (SELECT d.endpoint_id, d.event_id {
        _DEAD.format("n.workspace_id", "coalesce(n.before, n.at - interval '1 day')", "n.at - interval '1 minute'")
    } LIMIT {MOST_DEAD}) AS dead JOIN webhook_endpoint e ON e.id = dead.endpoint_id
WHERE (n.kind, n.workspace_id, n.subject) = ('dead_letters', :workspace, '')
GROUP BY e.id ORDER BY count(*) DESC, e.id"""),
}


@query()
async def _chosen(workspace: str, user_id: str) -> list[str] | None: ...


async def shown(me: Person) -> list[tuple[Offer, bool]]:
    """What somebody can choose, and whether they get it; nothing where no mail is sent."""
    if not mail.enabled():
        return []
    kinds = await _chosen(me.workspace, me.user_id)
    kinds = by_default(me.role) if kinds is None else kinds
    return [(offer, offer.kind in kinds) for offer in offered(me.role)]


@query()
async def addresses(workspace: str) -> list[Address]:
    """The addresses at Slack and Teams of a workspace."""


async def due(kind: Kind) -> list[str]:
    """The workspaces whose people are to be told something."""
    return [row["id"] for row in await _WORKSPACES[kind].rows(pause=OFFERS[kind].pause, **_bounds(kind))]


async def news(workspace: str, kind: Kind) -> list[db.Row]:
    """What people of a workspace have not been told yet."""
    return await _NEWS[kind].rows(workspace=workspace, **_bounds(kind))


@query()
async def name(workspace: str) -> str:
    """What a workspace is called."""


def began(conversation: ConversationDetail) -> str:
    """When a conversation began, for people."""
    return f"{clock.parse(conversation.created_at):%d %B %Y, %H:%M} UTC"


async def transcript(ticket: str) -> dict[str, object]:
    """What was said in a conversation when the link to it was mailed, for its page.

    Raise ConversationNotFound for a link that we did not make or that is too old, and when the lead was deleted;
    DomainError while the workspace is closed.
    """
    workspace, about = tickets.opened(TRANSCRIPT, ticket)
    conversation_id, _, count = about.partition(" ")
    if await accounts.suspended([workspace]):
        raise await accounts.why_closed(workspace)
    conversation = await conversations.detail(workspace, conversation_id)
    if conversation.lead is None:
        raise ConversationNotFound
    said = [(_WHO[one.role], one.content) for one in conversation.messages[: int(count)]]
    return {"workspace": await name(workspace), "began": began(conversation), "said": said}


@query()
async def _recipients(workspace: str, kind: Kind, roles: list[Role], defaults: list[Role]) -> list[db.Row]: ...


async def recipients(workspace: str, offer: Offer) -> list[db.Row]:
    """The people of a workspace who get a kind of notice."""
    return await _recipients(workspace, offer.kind, offer.roles, offer.defaults)


def _bounds(kind: Kind) -> dict[str, str]:
    """The first event whose dead letters are counted."""
    return {"first": ids.floor("evt", clock.ago(days=3))} if kind == "dead_letters" else {}

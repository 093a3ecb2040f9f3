"""Look-ups: bots, their drafts and versions, their FAQ, visitors' sessions."""

from typing import Final

import msgspec
from msgspec import structs

from leadwire.domain.accounts import keys
from leadwire.domain.accounts.reads import why_closed
from leadwire.domain.bots import schema
from leadwire.domain.bots.builder import blocks
from leadwire.domain.bots.flow.engine import State
from leadwire.domain.bots.flow.nodes import Flow
from leadwire.domain.bots.flow.parse import parse_stored
from leadwire.domain.bots.look import Look, stored
from leadwire.domain.bots.schema import BotNotFound, ChatClosed, LiveBot, VersionNotFound, VisitorSession
from leadwire.domain.conversations import reads as conversations
from leadwire.domain.conversations.plan import COLUMNS, Known
from leadwire.domain.conversations.schema import AlreadyEnded, ConversationNotFound
from leadwire.domain.leads import schema as leads
from leadwire.domain.leads.schema import StoredLead
from leadwire.infrastructure import cpu_work, db
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import sql

# A visitor's session with its conversation and lead, and whether its network is blocked and its workspace suspended.
_SESSION: Final = f"""
SELECT v.workspace_id, v.state, c.seen_by_agent_seq, c.xmin,
    EXISTS (SELECT 1 FROM blocked_visitor b WHERE b.workspace_id = v.workspace_id AND b.address = v.address),
    EXISTS (SELECT 1 FROM workspace w WHERE w.id = v.workspace_id AND w.suspended_at IS NOT NULL),
    (SELECT (version, {leads.COLUMNS}) FROM lead WHERE lead.id = c.lead_id), {", ".join(f"c.{one}" for one in COLUMNS)}
FROM visit v JOIN conversation c ON c.id = v.conversation_id"""
_BY_TOKEN: Final = sql(f"{_SESSION} WHERE v.token_hash = :hash")
_BY_START: Final = sql(f"{_SESSION} WHERE v.start_key = :key")
_BY_CONVERSATION: Final = sql(f"{_SESSION} WHERE v.workspace_id = :workspace AND v.conversation_id = :conversation")
_flows: dict[tuple[str, str, int], Flow] = {}  # versions never change, so nothing here is ever stale
_FLOWS_CACHED: Final = 1000
_NEWEST: Final = 2**31 - 1  # what the column holds


@query()
async def names(workspace: str) -> dict[str, str]:
    """Every bot's id and name, oldest first."""


@query()
async def shown(workspace: str) -> list[schema.Bot]:
    """The bots of a workspace, oldest first, as /v1 shows them."""


@query(BotNotFound)
async def one(workspace: str, bot_id: str) -> schema.Bot:
    """A bot, as /v1 shows it. Raise NotFound."""


@query()
async def listed(workspace: str | None) -> list[schema.BotSummary]:
    """The bots of a workspace, or (None, for operators) of all, oldest first."""


@query(BotNotFound)
async def detail(workspace: str, bot_id: str) -> schema.BotDetail:
    """A bot with its draft. Raise NotFound."""


@query(BotNotFound)
async def revision(workspace: str, bot_id: str) -> int:
    """How often a bot's draft has been changed. Raise NotFound."""


@query()
async def is_used(workspace: str, bot_id: str) -> bool:
    """Whether a bot has conversations or leads."""


@query()
async def consenting(workspace: str) -> list[str]:
    """The drafts that seem to ask for a consent, at most five, the last saved first."""


async def privacy_page(workspace: str) -> str:
    """The address that the workspace's bots ask for consent with; empty until there is one."""
    texts = await consenting(workspace)
    return await cpu_work.of_text("".join(texts), blocks.privacy_page, texts)


@query(BotNotFound)
async def history(workspace: str, bot_id: str) -> schema.History:
    """How far a bot's draft can be undone and redone. Raise NotFound."""


@query(BotNotFound)
async def _look(workspace: str, bot_id: str) -> str: ...


async def look(workspace: str, bot_id: str) -> Look:
    """How a bot's chat looks. Raise NotFound."""
    return stored(await _look(workspace, bot_id))


@query()
async def versions(workspace: str, bot_id: str) -> list[schema.BotVersion]:
    """Every published version of a bot, newest first."""


@query()
async def _sources(workspace: str, bot_id: str, version: int) -> dict[int, str]: ...


async def source(workspace: str, bot_id: str, version: int) -> tuple[str, str]:
    """The text of a published flow, and that of the version before it (empty for the first). Raise NotFound."""
    sources = await _sources(workspace, bot_id, version) if 0 < version <= _NEWEST else {}
    if version not in sources:
        raise VersionNotFound
    return sources[version], next((text for other, text in sources.items() if other != version), "")


async def flow(workspace: str, bot_id: str, version: int) -> Flow:
    """A published flow. Raise NotFound."""
    if (cached := _flows.get((workspace, bot_id, version))) is not None:
        return cached
    text, _ = await source(workspace, bot_id, version)
    if len(_flows) >= _FLOWS_CACHED:
        _flows.clear()
    return _flows.setdefault((workspace, bot_id, version), await cpu_work.of_text(text, parse_stored, text))


@query(BotNotFound)
async def _live(bot_id: str) -> tuple[str, int, str, str, bool]: ...


async def live(bot_id: str) -> LiveBot:
    """A bot as visitors find it, by its id alone. Raise NotFound, also with nothing published; WorkspaceSuspended."""
    workspace, version, color, look, suspended = await _live(bot_id)
    if suspended:
        raise await why_closed(workspace, ChatClosed)
    return LiveBot(workspace, bot_id, version, color, await flow(workspace, bot_id, version), stored(look))


@query()
async def origins(bot_or_conversation: str) -> list[str]:
    """The websites that may show a bot, by its id or by that of a conversation with it."""


async def session_by_token(token: str) -> VisitorSession | None:
    """The session of a visitor's token."""
    return await _session(await _BY_TOKEN.row(hash=keys.digest(token)))


async def session_by_start_key(key: bytes) -> VisitorSession | None:
    """The session that began with this start."""
    return await _session(await _BY_START.row(key=key))


async def session(workspace: str, conversation_id: str, followed: Flow | None = None) -> VisitorSession | None:
    """The session of a conversation, with the flow that it began with, if that is known."""
    return await _session(await _BY_CONVERSATION.row(workspace=workspace, conversation=conversation_id), followed)


async def current(before: VisitorSession, *, lock: bool = False) -> VisitorSession:
    """A session as it is now, with the flow that it began with; `lock` locks its conversation, and its lead, until the
    transaction ends. Raise Conflict when it is gone.
    """
    try:
        if lock:
            await conversations.lock(*before.place, lead=True)
    except ConversationNotFound:
        raise AlreadyEnded from None
    if now := await session(*before.place, before.flow):
        return now
    raise AlreadyEnded


@query()
async def identity_secret(bot_id: str) -> bytes | None:
    """What a website signs its visitors' identities with, sealed; None: nothing yet."""


@query()
async def is_blocked(workspace: str, address: bytes | None) -> bool:
    """Whether visitors from this network are blocked."""


@query()
async def has_blocked(workspace: str, conversation_id: str) -> bool:
    """Whether somebody is blocked because of this conversation."""


@query()
async def faq(workspace: str, bot_id: str) -> list[schema.FaqEntry]:
    """What a bot has been taught, oldest first."""


@query()
async def score_of(workspace: str, lead_id: str) -> list[schema.ScoreEntry]:
    """Why a lead has its score: every rule that counted, oldest first.

    A lead who came back has entries of several conversations; the score is the highest sum of one of them, unless
    somebody has set it by hand.
    """


@query()
async def consents_of(workspace: str, lead_id: str) -> list[schema.Consent]:
    """What a lead has consented to, refused and withdrawn, newest first."""


async def _session(row: db.Row | None, followed: Flow | None = None) -> VisitorSession | None:
    if row is None:
        return None
    workspace, state, seen, version, blocked, suspended, lead, *values = row
    talk = dict(zip(COLUMNS, values, strict=True))
    known = Known(workspace, talk, version, StoredLead(leads.from_row(lead[1:]), lead[0]) if lead else None)
    at = structs.replace(msgspec.json.decode(state, type=State), variables=msgspec.json.decode(talk["variables"]))
    followed = followed or await flow(workspace, talk["bot_id"], talk["flow_version"] or 0)
    place = (workspace, talk["id"], talk["bot_id"], followed, talk["status"], at, talk["lead_id"], known)
    return VisitorSession(*place, blocked, suspended, None not in (talk["lead_id"], talk["visitor_email"]), seen)

"""Looking bots, their versions and their visits up."""

import hashlib
from typing import Final

import msgspec

from leadwire.domain.bots import off_loop
from leadwire.domain.bots.engine import State
from leadwire.domain.bots.flow import Flow
from leadwire.domain.bots.parse import stored
from leadwire.domain.bots.schema import BotDetail, BotSummary, BotVersion, FaqEntry, LiveBot, ScoreEntry, VisitorSession
from leadwire.domain.bots.table import BlockedVisitor
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db.statements import param, statement
from leadwire.infrastructure.errors import NotFound
from leadwire.infrastructure.ids import is_id

_VISIT: Final = """
SELECT v.workspace_id, v.conversation_id, v.bot_id, c.flow_version, c.status, v.state, c.variables, c.lead_id,
    EXISTS (SELECT 1 FROM blocked_visitor b WHERE b.workspace_id = v.workspace_id AND b.address = v.address)
FROM visit v JOIN conversation c ON c.id = v.conversation_id"""
_BY_TOKEN: Final = f"{_VISIT} WHERE v.token_hash = $1"
_BY_START: Final = f"{_VISIT} WHERE v.start_key = $1"
_BY_CONVERSATION: Final = f"{_VISIT} WHERE v.workspace_id = $1 AND v.conversation_id = $2"
_HAS_BLOCKED: Final = statement(
    BlockedVisitor.select(BlockedVisitor.address).where(
        BlockedVisitor.workspace_id == param("workspace"), BlockedVisitor.conversation_id == param("conversation_id")
    )
)

_flows: dict[tuple[str, str, int], Flow] = {}  # versions never change, so nothing here is ever stale
_FLOWS_KEPT: Final = 1000


async def names(workspace: str) -> dict[str, str]:
    """Every bot's id and name, oldest first."""
    found = await db.rows("SELECT id, name FROM bot WHERE workspace_id = $1 ORDER BY created_at, id", workspace)
    return {row["id"]: row["name"] for row in found}


async def listed(workspace: str | None) -> list[BotSummary]:
    """The bots of a workspace, or (None, for operators) of all, oldest first."""
    found = await db.rows(
        """SELECT id, workspace_id, name, published_version, created_at, allowed_origins FROM bot
           WHERE $1::text IS NULL OR workspace_id = $1 ORDER BY created_at, id""",
        workspace,
    )
    return [
        BotSummary(id_, owner, name, version, clock.iso(at), websites)
        for id_, owner, name, version, at, websites in found
    ]


async def detail(workspace: str, bot_id: str) -> BotDetail:
    """A bot with its draft. Raises NotFound."""
    found = await db.row(
        """SELECT id, name, draft, draft_saved_at, published_version, allowed_origins, color FROM bot
           WHERE workspace_id = $1 AND id = $2""",
        workspace, bot_id,
    )  # fmt: skip
    if found is None:
        raise NotFound("There is no such bot.")
    id_, name, draft, saved_at, *rest = found
    return BotDetail(id_, name, draft, clock.iso(saved_at) if saved_at else None, *rest)


async def versions(workspace: str, bot_id: str) -> list[BotVersion]:
    """Every published version of a bot, newest first."""
    found = await db.rows(
        "SELECT version, created_at FROM bot_version WHERE workspace_id = $1 AND bot_id = $2 ORDER BY version DESC",
        workspace, bot_id,
    )  # fmt: skip
    return [BotVersion(version, clock.iso(at)) for version, at in found]


async def source(workspace: str, bot_id: str, version: int) -> tuple[str, str]:
    """The text of a published flow, and that of the version before it (empty for the first). Raises NotFound."""
    found = await db.rows(
        """SELECT version, source FROM bot_version WHERE workspace_id = $1 AND bot_id = $2 AND version <= $3
           ORDER BY version DESC LIMIT 2""",
        workspace, bot_id, version,
    )  # fmt: skip
    if not found or found[0]["version"] != version:
        raise NotFound("There is no such version of the bot.")
    return found[0]["source"], found[1]["source"] if len(found) > 1 else ""


async def flow(workspace: str, bot_id: str, version: int) -> Flow:
    """A published flow. Raises NotFound."""
    if (known := _flows.get((workspace, bot_id, version))) is not None:
        return known
    text = await db.value(
        "SELECT source FROM bot_version WHERE workspace_id = $1 AND bot_id = $2 AND version = $3",
        workspace, bot_id, version,
    )  # fmt: skip
    if text is None:
        raise NotFound("There is no such version of the bot.")
    if len(_flows) >= _FLOWS_KEPT:
        _flows.clear()
    read = await off_loop.run(stored, text)
    _flows[workspace, bot_id, version] = read
    return read


async def live(bot_id: str) -> LiveBot:
    """A bot as visitors find it, by its id alone. Raises NotFound, also while nothing is published."""
    found = None
    if is_id("bot", bot_id):
        found = await db.row(
            """SELECT workspace_id, id, published_version, color FROM bot
               WHERE id = $1 AND published_version IS NOT NULL""",
            bot_id,
        )
    if found is None:
        raise NotFound("There is no such bot.")
    return LiveBot(*found)


async def origins(bot_id: str) -> list[str]:
    """The websites that may show a bot."""
    return await db.value("SELECT allowed_origins FROM bot WHERE id = $1", bot_id) or []


async def bot_of(conversation_id: str) -> str | None:
    """Which bot a conversation is with."""
    if not is_id("conv", conversation_id):
        return None
    return await db.value("SELECT bot_id FROM visit WHERE conversation_id = $1", conversation_id)  # type: ignore[no-any-return]


async def visit(token: str) -> VisitorSession | None:
    """The visit that a visitor's token stands for."""
    return _visit(await db.row(_BY_TOKEN, token_hash(token)))


async def visit_of(workspace: str, conversation_id: str, *, lock: bool = False) -> VisitorSession | None:
    """The visit of a conversation; `lock` takes the conversation's row for the open transaction."""
    sql = f"{_BY_CONVERSATION} FOR UPDATE OF c, v" if lock else _BY_CONVERSATION
    return _visit(await db.row(sql, workspace, conversation_id))


async def visit_started(key: bytes) -> VisitorSession | None:
    """The visit that a start key has begun."""
    return _visit(await db.row(_BY_START, key))


async def is_blocked(workspace: str, address: bytes | None) -> bool:
    """Whether nobody from this network is talked to."""
    if address is None:
        return False
    return bool(
        await db.value("SELECT 1 FROM blocked_visitor WHERE workspace_id = $1 AND address = $2", workspace, address)
    )


async def has_blocked(workspace: str, conversation_id: str) -> bool:
    """Whether somebody is blocked because of this conversation."""
    return bool(await _HAS_BLOCKED.value(workspace=workspace, conversation_id=conversation_id))


async def faq(workspace: str, bot_id: str) -> list[FaqEntry]:
    """What a bot has been taught, oldest first."""
    found = await db.rows(
        "SELECT id, question, answer FROM faq_entry WHERE workspace_id = $1 AND bot_id = $2 ORDER BY created_at, id",
        workspace, bot_id,
    )  # fmt: skip
    return [FaqEntry(*row) for row in found]


async def score_of(workspace: str, lead_id: str) -> list[ScoreEntry]:
    """Why a lead has its score: every rule that counted, oldest first.

    A lead who came back has entries of several conversations; the score is the highest sum of one of them, unless
    somebody has set it by hand.
    """
    found = await db.rows(
        """SELECT s.conversation_id, s.label, s.points, s.created_at
           FROM score_entry s JOIN conversation c ON c.id = s.conversation_id
           WHERE c.workspace_id = $1 AND c.lead_id = $2 ORDER BY s.created_at, s.conversation_id, s.node, s.label""",
        workspace, lead_id,
    )  # fmt: skip
    return [ScoreEntry(talk, label, points, clock.iso(at)) for talk, label, points, at in found]


def token_hash(token: str) -> bytes:
    """What is stored of a visitor's token. 256 random bits need no slower hash."""
    return hashlib.sha256(token.encode()).digest()


def _visit(row: db.Row | None) -> VisitorSession | None:
    if row is None:
        return None
    workspace, conversation_id, bot_id, version, status, state, variables, *rest = row
    kept = msgspec.structs.replace(
        msgspec.json.decode(state, type=State), variables=msgspec.json.decode(variables, type=dict)
    )
    return VisitorSession(workspace, conversation_id, bot_id, version or 0, status, kept, *rest)

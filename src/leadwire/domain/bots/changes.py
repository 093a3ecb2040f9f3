"""Every change of bots: drafts, versions, where they may be embedded, what they have been taught, whom they block."""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from leadwire.domain.accounts import quotas
from leadwire.domain.bots import off_loop, reads, table
from leadwire.domain.bots.parse import parse
from leadwire.domain.bots.schema import FaqEntry
from leadwire.domain.conversations import changes as conversations
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import any_of, param, sql, statement
from leadwire.infrastructure.errors import Conflict, FieldError, Invalid, NotFound

MAX_ORIGINS: Final = 50
_NEWEST: Final = 2**31 - 1  # what the column holds
_COLOR: Final = re.compile(r"#[0-9a-fA-F]{6}")

_TEACH: Final = """
INSERT INTO faq_entry (id, workspace_id, bot_id, question, answer, created_at, search)
SELECT $1, $2, $3, $4, $5, $6,
    setweight(to_tsvector('english', $4), 'A') || setweight(to_tsvector('simple', $4), 'B') ||
    setweight(to_tsvector('english', $5), 'D')"""
_TAUGHT: Final = sql("SELECT count(*) FROM faq_entry WHERE workspace_id = :workspace AND bot_id = :bot")
_BOTS: Final = sql("SELECT count(*) FROM bot WHERE workspace_id = :workspace")
_VERSIONS: Final = sql("SELECT count(*) FROM bot_version WHERE workspace_id = :workspace AND bot_id = :bot")
_BYTES: Final = sql("""
SELECT coalesce(sum(coalesce(octet_length(b.draft), 0) + (
    SELECT coalesce(sum(octet_length(v.source)), 0) FROM bot_version v WHERE v.bot_id = b.id)), 0)
FROM bot b WHERE b.workspace_id = :workspace""")

# Blocks the network of a conversation's visitor, unless it has been erased.
_BLOCK: Final = sql("""
INSERT INTO blocked_visitor (workspace_id, address, conversation_id, user_id, created_at)
SELECT :workspace, address, :conversation_id, :user_id, :now FROM visit
WHERE workspace_id = :workspace AND conversation_id = :conversation_id AND address IS NOT NULL
ON CONFLICT DO NOTHING""")
_UNBLOCK: Final = statement(
    table.BlockedVisitor.delete()
    .where(
        table.BlockedVisitor.workspace_id == param("workspace"),
        table.BlockedVisitor.conversation_id == param("conversation_id"),
    )
    .returning(table.BlockedVisitor.conversation_id)
)
_DELETE_SCORES: Final = statement(
    table.ScoreEntry.delete().where(
        table.ScoreEntry.workspace_id == param("workspace"),
        any_of(table.ScoreEntry.conversation_id, "conversation_ids"),
    )
)
_ERASE_ADDRESSES: Final = statement(
    table.Visit.update({table.Visit.address: None}).where(
        table.Visit.workspace_id == param("workspace"), any_of(table.Visit.conversation_id, "conversation_ids")
    )
)


async def create(workspace: str, name: str) -> str:
    """A new bot. Answers its id. Raises QuotaExceeded."""
    bot_id = ids.new("bot")
    async with db.transaction():
        await db.rows(
            "INSERT INTO bot (id, workspace_id, name, created_at) VALUES ($1, $2, $3, $4)",
            bot_id, workspace, name, clock.now(),
        )  # fmt: skip
        await quotas.check(workspace, "bots", _BOTS)
    return bot_id


async def save_draft(workspace: str, bot_id: str, source: str) -> None:
    """Keep the text of a flow as the draft. Raises NotFound, QuotaExceeded; BadFlow when the flow cannot be used."""
    await off_loop.run(parse, source)
    async with db.transaction():
        saved = await db.value(
            "UPDATE bot SET draft = $3, draft_saved_at = $4 WHERE workspace_id = $1 AND id = $2 RETURNING id",
            workspace, bot_id, source, clock.now(),
        )  # fmt: skip
        if saved is None:
            raise NotFound("There is no such bot.")
        await quotas.check(workspace, "flow_bytes", _BYTES)


async def publish(workspace: str, bot_id: str) -> int:
    """Make the draft what new conversations run. Answers its version; publishing the same again changes nothing.

    Raises NotFound, QuotaExceeded; Conflict when there is no draft.
    """
    async with db.transaction():
        bot = await db.row(
            "SELECT draft, published_version FROM bot WHERE workspace_id = $1 AND id = $2 FOR UPDATE", workspace, bot_id
        )
        if bot is None:
            raise NotFound("There is no such bot.")
        if bot["draft"] is None:
            raise Conflict("There is no draft to publish.", code="no_draft")
        published = await db.value(
            "SELECT source FROM bot_version WHERE bot_id = $1 AND version = $2", bot_id, bot["published_version"]
        )
        if bot["draft"] == published:
            return int(bot["published_version"])
        await off_loop.run(parse, bot["draft"])  # rules may have become stricter since it was saved
        version = await db.value(
            """INSERT INTO bot_version (bot_id, version, workspace_id, source, created_at)
               SELECT $2, 1 + coalesce(max(version), 0), $1, $3, $4 FROM bot_version WHERE bot_id = $2
               RETURNING version""",
            workspace, bot_id, bot["draft"], clock.now(),
        )  # fmt: skip
        await db.rows(
            "UPDATE bot SET published_version = $3 WHERE workspace_id = $1 AND id = $2", workspace, bot_id, version
        )
        await quotas.check(workspace, "bot_versions", _VERSIONS, bot=bot_id)
        await quotas.check(workspace, "flow_bytes", _BYTES)
    return int(version)


async def rollback(workspace: str, bot_id: str, version: int) -> None:
    """Let new conversations run a version published before. The draft stays. Raises NotFound."""
    if not 0 < version <= _NEWEST:
        raise NotFound("There is no such version of the bot.")
    await reads.flow(workspace, bot_id, version)
    await db.rows(
        "UPDATE bot SET published_version = $3 WHERE workspace_id = $1 AND id = $2", workspace, bot_id, version
    )


async def set_appearance(workspace: str, bot_id: str, origins: Sequence[str], color: str) -> None:
    """Say which websites (`https://example.com`; `*` = any) may show the bot, and in which color.

    Raises NotFound, Invalid.
    """
    wrong = [origin for origin in origins if origin != "*" and not _is_origin(origin)]
    faults = [
        FieldError("wrong_value", f"{one[:200]!r}: enter scheme and host, such as https://example.com", "/origins")
        for one in wrong
    ]
    if len(origins) > MAX_ORIGINS:
        faults.append(FieldError("too_many", f"At most {MAX_ORIGINS} origins.", "/origins"))
    if not _COLOR.fullmatch(color):
        faults.append(FieldError("wrong_value", "A color is written like #4f46e5.", "/color"))
    if faults:
        raise Invalid("The bot cannot be embedded like that.", faults=tuple(faults))
    done = await db.value(
        "UPDATE bot SET allowed_origins = $3, color = $4 WHERE workspace_id = $1 AND id = $2 RETURNING id",
        workspace, bot_id, list(dict.fromkeys(origin.lower() for origin in origins)), color.lower(),
    )  # fmt: skip
    if done is None:
        raise NotFound("There is no such bot.")


async def add_faq_entry(workspace: str, bot_id: str, question: str, answer: str) -> FaqEntry:
    """Teach a bot the answer to a question. Raises NotFound, Invalid, QuotaExceeded."""
    question, answer = question.strip(), answer.strip()
    if not (0 < len(question) <= 500 and 0 < len(answer) <= 2000) or "\0" in question + answer:
        raise Invalid("A question has 1 to 500 characters, an answer 1 to 2000.")
    await reads.detail(workspace, bot_id)
    entry = FaqEntry(ids.new("faq"), question, answer)
    async with db.transaction():
        await db.rows(_TEACH, entry.id, workspace, bot_id, question, answer, clock.now())
        await quotas.check(workspace, "faq_entries", _TAUGHT, bot=bot_id)
    return entry


async def remove_faq_entry(workspace: str, entry_id: str) -> None:
    """Forget an answer. Raises NotFound."""
    gone = await db.value("DELETE FROM faq_entry WHERE workspace_id = $1 AND id = $2 RETURNING id", workspace, entry_id)
    if gone is None:
        raise NotFound("There is no such entry.")


async def block(workspace: str, conversation_id: str, user_id: str) -> None:
    """Block the visitor's network and end the conversation. Raise NotFound."""
    async with db.transaction():
        await conversations.end(workspace, conversation_id, "agent", "blocked")
        await _BLOCK.rows(workspace=workspace, conversation_id=conversation_id, user_id=user_id, now=clock.now())


async def unblock(workspace: str, conversation_id: str) -> None:
    """Undo what `block` did for this conversation's visitor. Raise NotFound when nobody is blocked."""
    if not await _UNBLOCK.rows(workspace=workspace, conversation_id=conversation_id):
        raise NotFound("Nobody is blocked because of this conversation.")


async def erase(workspace: str, conversation_ids: list[str]) -> None:
    """Erase the visitors of conversations: why they have their score, and from which network they came."""
    await _DELETE_SCORES.rows(workspace=workspace, conversation_ids=conversation_ids)
    await _ERASE_ADDRESSES.rows(workspace=workspace, conversation_ids=conversation_ids)


def _is_origin(text: str) -> bool:
    """A scheme, a host, perhaps a port, and nothing else (RFC 6454)."""
    try:
        parts = urlsplit(text)
        return (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and text.lower() == f"{parts.scheme}://{parts.netloc.lower()}"
            and "@" not in parts.netloc
            and parts.port != 0
            and text.isascii()
            and len(text) <= 300
        )
    except ValueError:
        return False

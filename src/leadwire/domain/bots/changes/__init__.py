"""Every change of bots. In this file: versions, where they may be embedded, their FAQ, and their states."""

import re
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Literal, get_args
from urllib.parse import urlsplit

import msgspec
from piccolo.columns import Column

from leadwire.domain.accounts import quotas
from leadwire.domain.bots import reads
from leadwire.domain.bots.changes import drafts
from leadwire.domain.bots.changes.drafts import COUNT_BYTES
from leadwire.domain.bots.flow.parse import parse
from leadwire.domain.bots.look import Look
from leadwire.domain.bots.schema import BotDetail, BotNotFound
from leadwire.domain.bots.table import FAQ_WORDS, Bot
from leadwire.infrastructure import clock, cpu_work, db, ids, preconditions, secret_box
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import insert, load, named, sql
from leadwire.infrastructure.errors import Conflict, FieldError, Invalid
from leadwire.infrastructure.unseen import UNSEEN

MAX_ORIGINS: Final = 50
LONGEST_DESCRIPTION: Final = 500
LONGEST_NOTE: Final = 200
_COLOR: Final = re.compile(r"#[0-9a-fA-F]{6}")

_ADD: Final = insert(Bot.id, Bot.workspace_id, Bot.name, Bot.created_at)
_ADD_VERSION, _COUNT, _COUNT_VERSIONS, _COUNT_ENTRIES = named(
    __file__, "add_version count count_versions count_entries"
)
_ADD_ENTRY: Final = sql(f"""
INSERT INTO faq_entry (id, workspace_id, bot_id, question, answer, created_at, search)
SELECT :id, :workspace, :bot, question, answer, :now, {FAQ_WORDS}
FROM (SELECT :question::text AS question, :answer::text AS answer) entry""")
Deed = Literal["paused", "resumed", "archived", "restored", "deleted"]

DEEDS: Final[tuple[Deed, ...]] = get_args(Deed)


async def create(workspace: str, name: str) -> str:
    """Add a bot. Return its id. Raise QuotaExceeded."""
    bot_id = ids.new("bot")
    async with db.transaction():
        await _ADD.rows(id=bot_id, workspace_id=workspace, name=name, created_at=clock.now())
        await quotas.check(workspace, "bots", _COUNT)
    return bot_id


async def describe(workspace: str, bot_id: str, name: str, description: str, saw: str = "") -> None:
    """Rename a bot, and say what it is for. Raise NotFound, Invalid; Conflict as `set_origins`."""
    if len(description) > LONGEST_DESCRIPTION or UNSEEN.search(description.replace("\n", "")):
        wrong = FieldError("too_long", f"At most {LONGEST_DESCRIPTION} characters.", "/description")
        raise Invalid("This is no description.", errors=(wrong,))
    async with _locked(workspace, bot_id) as bot:
        preconditions.check(saw, [bot.name, bot.description])
        await _set(workspace, bot_id, {Bot.name: name, Bot.description: description})


async def make_identity_secret(workspace: str, bot_id: str) -> str:
    """Replace what a website signs identities with. Return it: it is never shown again. Raise NotFound."""
    secret = secrets.token_urlsafe(32)
    sealed = secret_box.get().seal(secret, secret_box.place(Bot.identity_secret, bot_id))
    await _set(workspace, bot_id, {Bot.identity_secret: sealed})
    return secret


async def duplicate(workspace: str, bot_id: str, name: str) -> str:
    """Add a bot with the draft, the description, the FAQ and the appearance of another, on no website yet. Return its
    id. Raise NotFound, QuotaExceeded.
    """
    original = await reads.detail(workspace, bot_id)
    async with db.transaction():
        copy = await create(workspace, name)
        await describe(workspace, copy, name, original.description)
        await set_look(workspace, copy, await reads.look(workspace, bot_id), original.color)
        for entry in await reads.faq(workspace, bot_id):
            await add_faq_entry(workspace, copy, entry.question, entry.answer)
        if original.draft is not None:
            await drafts.keep(workspace, copy, original.draft)
    return copy


async def save_draft(workspace: str, bot_id: str, source: str) -> None:
    """Save the text of a flow as the draft. Raise NotFound, QuotaExceeded; BadFlow when the flow cannot be used."""
    await cpu_work.of_text(source, parse, source)
    await drafts.replace(workspace, bot_id, source)


async def usable(workspace: str, bot_id: str, draft: str | None = None) -> str:
    """Return the draft, or the text that is to become it, if it can be published. Raise NotFound, Conflict, BadFlow.

    What is live already may stay so, though rules may have become stricter since.
    """
    bot = await reads.detail(workspace, bot_id)
    draft = bot.draft if draft is None else draft
    if draft is None:
        raise Conflict("There is no draft to publish.", code="no_draft")
    published = bot.published_version
    if not published or draft != (await reads.source(workspace, bot_id, published))[0]:
        await cpu_work.of_text(draft, parse, draft)
    return draft


async def publish(
    workspace: str, bot_id: str, checked: str | None = None, user_id: str | None = None, note: str = ""
) -> int:
    """Make the draft what new conversations run. Return its version; publishing the same again changes nothing.

    `checked` is what `usable` has returned, for who is in a transaction. A longer note is cut off. Raise NotFound,
    QuotaExceeded, BadFlow; Conflict when there is no draft, or another one meanwhile.
    """
    checked = await usable(workspace, bot_id) if checked is None else checked
    async with db.transaction():
        draft, _, published = await drafts.lock(workspace, bot_id)
        if draft != checked:
            raise Conflict("The draft has changed meanwhile. Publish it again.", code="draft_changed")
        if published and draft == (await reads.source(workspace, bot_id, published))[0]:
            return int(published)
        said = {"user_id": user_id, "note": " ".join(note.split())[:LONGEST_NOTE] or None}
        version = await _ADD_VERSION.value(workspace=workspace, bot=bot_id, source=draft, now=clock.now(), **said)
        await _set(workspace, bot_id, _live(version))
        await quotas.check(workspace, "bot_versions", _COUNT_VERSIONS, bot=bot_id)
        await quotas.check(workspace, "flow_bytes", COUNT_BYTES)
    return int(version)


async def rollback(workspace: str, bot_id: str, version: int) -> None:
    """Let new conversations run a version published before, that still can (`reads.flow`). The draft stays.

    Raise NotFound.
    """
    await reads.source(workspace, bot_id, version)
    await _set(workspace, bot_id, _live(version))


async def set_origins(workspace: str, bot_id: str, origins: Sequence[str], saw: str = "") -> None:
    """Set which websites (`https://example.com`; `*`: any) may show a bot. Raise NotFound, Invalid; Conflict when there
    are others now than whoever changes them `saw` (`preconditions.digest`).
    """
    faults = [
        FieldError("wrong_value", f"{origin[:200]!r}: enter scheme and host, such as https://example.com", "/origins")
        for origin in origins
        if origin != "*" and not _is_origin(origin)
    ]
    if len(origins) > MAX_ORIGINS:
        faults.append(FieldError("too_many", f"At most {MAX_ORIGINS} origins.", "/origins"))
    if faults:
        raise Invalid("The bot cannot be embedded like that.", errors=tuple(faults))
    hosts = list(dict.fromkeys(origin.lower() for origin in origins))
    async with _locked(workspace, bot_id) as bot:
        preconditions.check(saw, bot.allowed_origins)
        await _set(workspace, bot_id, {Bot.allowed_origins: hosts})


async def set_look(workspace: str, bot_id: str, look: Look, color: str, saw: str = "") -> None:
    """Set how a bot's chat looks. Raise NotFound, Invalid; Conflict as `set_origins`."""
    if not _COLOR.fullmatch(color):
        wrong = FieldError("wrong_value", "A color is written like #4f46e5.", "/color")
        raise Invalid("1 field is not valid.", errors=(wrong,))
    text = msgspec.json.encode(look).decode()
    async with _locked(workspace, bot_id) as bot:
        preconditions.check(saw, [await reads.look(workspace, bot_id), bot.color])
        await _set(workspace, bot_id, {Bot.look: text, Bot.color: color.lower()})


async def add_faq_entry(workspace: str, bot_id: str, question: str, answer: str) -> None:
    """Teach a bot the answer to a question. Raise NotFound, Invalid, QuotaExceeded."""
    question, answer = question.strip(), answer.strip()
    if not (0 < len(question) <= 500 and 0 < len(answer) <= 2000) or "\0" in question + answer:
        raise Invalid("A question has 1 to 500 characters, an answer 1 to 2000.")
    async with db.transaction():
        await drafts.lock(workspace, bot_id)  # else it may be deleted before the entry comes
        values = {"id": ids.new("faq"), "workspace": workspace, "bot": bot_id, "now": clock.now()}
        await _ADD_ENTRY.rows(**values, question=question, answer=answer)
        await quotas.check(workspace, "faq_entries", _COUNT_ENTRIES, bot=bot_id)


@query("There is no such entry.")
async def remove_faq_entry(workspace: str, bot_id: str, entry_id: str) -> bool:
    """Remove an entry. Raise NotFound."""


async def change_state(workspace: str, bot_id: str, deed: Deed) -> None:
    """Do one of these to a bot. Repeated, it changes nothing. A deletion takes its versions, knowledge and figures.

    Raise NotFound; Conflict when a bot is to be deleted that has conversations or leads, which have its name.
    """
    try:
        await load(__file__)[deed].one(BotNotFound(), workspace=workspace, bot=bot_id)
    except db.Orphaned:
        raise Conflict("It has conversations or leads, which keep its name. Archive it instead.") from None


@asynccontextmanager
async def _locked(workspace: str, bot_id: str) -> AsyncIterator[BotDetail]:
    async with db.transaction():
        await drafts.lock(workspace, bot_id)
        yield await reads.detail(workspace, bot_id)


async def _set(workspace: str, bot_id: str, values: dict[Column | str, Any]) -> None:
    if not await Bot.update(values).where(Bot.workspace_id == workspace, Bot.id == bot_id).returning(Bot.id):
        raise BotNotFound


def _live(version: int) -> dict[Column | str, Any]:
    return {Bot.published_version: version, Bot.paused_version: None, Bot.archived_at: None}


def _is_origin(text: str) -> bool:
    """A scheme, a host, perhaps a port, and nothing else (RFC 6454)."""
    try:
        parts = urlsplit(text)
        plain = text.isascii() and len(text) <= 300 and text.lower() == f"{parts.scheme}://{parts.netloc.lower()}"
        web = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return plain and web and not {"@", "*"} & {*parts.netloc}

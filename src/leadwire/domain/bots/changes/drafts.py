"""Every change of a bot's draft: one after the other, each of which can be taken back."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from leadwire.domain.accounts import quotas
from leadwire.domain.bots import reads
from leadwire.domain.bots.builder import editing
from leadwire.domain.bots.builder.editing import Draft
from leadwire.domain.bots.builder.rewriting import DEEP, rewritten
from leadwire.domain.bots.flow.parse import LARGEST, read
from leadwire.domain.bots.schema import BotNotFound
from leadwire.domain.conversations import pubsub
from leadwire.infrastructure import clock, cpu_work, db, preconditions
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import Conflict, Invalid, Unavailable

KEPT: Final = 50
"""Changes that can be taken back; fewer of a large flow, see `_KEPT_BYTES`."""
_KEPT_BYTES: Final = 2_000_000  # of the drafts before, and of those after, unless they are fewer than three

_TRIES: Final = 20

_SAVE, COUNT_BYTES, _UNDO, _REDO = named(__file__, "save count_bytes undo redo")
Edit = Callable[[Draft], Draft]


@query(BotNotFound)
async def _read(workspace: str, bot_id: str) -> tuple[str | None, int, str]: ...


@query(BotNotFound)
async def lock(workspace: str, bot_id: str) -> tuple[str | None, int, int | None]:
    """Lock a bot; its draft, how often that was changed, and the version that is published. Raise NotFound."""


async def replace(
    workspace: str, bot_id: str, source: str, user_id: str | None = None, revision: int | None = None
) -> None:
    """Save a text as the draft, also one that is no complete flow. Raise as `keep`; BadFlow when it cannot be read."""
    await cpu_work.of_text(source, read, source)
    await keep(workspace, bot_id, source, user_id, revision)


async def keep(
    workspace: str, bot_id: str, source: str, user_id: str | None = None, revision: int | None = None
) -> None:
    """Save a text that can be read as the draft.

    Raise NotFound, QuotaExceeded; Conflict when the draft has changed since its `revision`, if that is given.
    """
    async with db.transaction():
        before, at, _ = await lock(workspace, bot_id)
        if revision not in (None, at) and before != source:
            raise Conflict("The draft has changed since you opened it.", code="draft_changed")
        await _save(workspace, bot_id, source, user_id, {})


async def edit(
    workspace: str, bot_id: str, user_id: str, change: Edit, seen: tuple[str, str] | None = None, tab: str = ""
) -> None:
    """Edit the draft; again from the beginning when somebody else has changed it meanwhile. `seen` is a step, or empty
    for what the flow has besides, and its digest as the user saw it, from `preconditions.digest`. `tab` is the
    browser's tab, whose own earlier edits are no conflict: it saves without waiting for its last answer.

    Raise NotFound, Invalid, QuotaExceeded, BadFlow; Conflict when what was seen has changed meanwhile, or there is no
    draft; Unavailable when it changes again and again.
    """
    author = f"{user_id} {tab}"
    for _ in range(_TRIES):
        before, revision, authors = await _read(workspace, bot_id)
        if before is None:
            raise Conflict("There is no draft to edit.", code="no_draft")
        known = msgspec.json.decode(authors, type=dict[str, str])
        own = seen and tab and known.get(seen[0]) == author
        old = await cpu_work.of_text(before, read, before)
        new = await cpu_work.run(_edited, old, change, None if own else seen)
        source = await cpu_work.of_text(before, rewritten, before, old, new)
        if len(source) > LARGEST:
            raise Invalid(f"A flow has at most {LARGEST} characters.")
        if source == before:
            return None
        async with db.transaction():
            _, at, _ = await lock(workspace, bot_id)
            if at == revision:
                return await _save(workspace, bot_id, source, user_id, _authors(known, old, new, author))
    raise Unavailable("Others change this draft again and again. Try again.")


async def undo(workspace: str, bot_id: str, user_id: str, *, redo: bool = False) -> None:
    """Take the last change of the draft back, whoever made it, or with `redo` bring back what was taken back last.

    Raise NotFound; Conflict when there is nothing.
    """
    missing = Conflict(f"There is nothing to {'redo' if redo else 'undo'}.", code="nothing_to_undo")
    await reads.revision(workspace, bot_id)
    await (_REDO if redo else _UNDO).one(missing, workspace=workspace, bot=bot_id, user=user_id, now=clock.now())
    pubsub.publish(*channel(workspace, bot_id))


def channel(workspace: str, bot_id: str) -> pubsub.Place:
    """Where those who have a draft open are told of changes, and of each other: not where inboxes listen."""
    return f"{workspace}/bots", bot_id


async def _save(workspace: str, bot_id: str, source: str, user_id: str | None, authors: Mapping[str, str]) -> None:
    size = max(1, len(source.encode()))
    await _SAVE.rows(
        workspace=workspace, bot=bot_id, draft=source, user=user_id, now=clock.now(),
        authors=msgspec.json.encode(authors).decode(), kept=max(3, min(KEPT, _KEPT_BYTES // size)),
    )  # fmt: skip
    await quotas.check(workspace, "flow_bytes", COUNT_BYTES)
    pubsub.publish(*channel(workspace, bot_id))


def _edited(old: Draft, change: Edit, seen: tuple[str, str] | None) -> Draft:
    if seen and preconditions.digest(editing.part(old, seen[0])) != seen[1]:
        raise Conflict(f"This {'step' if seen[0] else 'flow'} has changed meanwhile.", code="draft_changed")
    try:
        return change(old)
    except RecursionError:
        raise DEEP from None


def _authors(authors: Mapping[str, str], old: Draft, new: Draft, by: str) -> dict[str, str]:
    """Who changed each step last, and what the flow has besides, once `by` has turned `old` into `new`."""
    before = _parts(old)
    return {
        name: author
        for name, part in _parts(new).items()
        if (author := authors.get(name, "") if before.get(name) == part else by)
    }


def _parts(draft: Draft) -> dict[str, Any]:
    return {"": editing.part(draft, "")} | {step["id"]: step for step in editing.steps(draft)}

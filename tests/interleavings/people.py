"""What may be done to a person at once, by themselves, customers and their programs; and what must hold of it."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, NamedTuple

from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.reads import ConversationQuery
from leadwire.domain.exports import changes as exports
from leadwire.domain.exports import reads as exported
from leadwire.domain.exports.reads import EventsQuery
from leadwire.domain.exports.schema import Kind
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.reads import LeadQuery
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.privacy import erasure, person_copy
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import DomainError
from tests import make
from tests.atomicity.history import assert_one_truth
from tests.atomicity.world import World
from tests.interleavings import kept
from tests.interleavings.sessions import Order, Session, each_order, interleave

TABLES: Final = re.compile(r"\b(?:conversation|lead|event|outbox)\b")
NAME: Final = "a name of their own"


class People(NamedTuple):
    """A workspace with some people, of whom the first is looked at."""

    world: World
    ids: list[str]
    conversations: list[str]
    address: str
    stranger: str
    """The conversation of somebody who is no lead yet."""

    @classmethod
    async def begin(cls, world: World) -> "People":
        """Make them, and keep all rows for `kept.restore`."""
        for _ in range(4):
            await world.prepare()
        rows = await db.rows("SELECT id, conversation_id, email FROM lead ORDER BY id")
        stranger = await db.value("SELECT id FROM conversation WHERE lead_id IS NULL ORDER BY id LIMIT 1")
        await kept.keep()
        talks = [row["conversation_id"] for row in rows]
        return cls(world, [row["id"] for row in rows], talks, rows[0]["email"], stranger)

    @property
    def workspace(self) -> str:
        return self.world.workspace


async def rename(people: People, which: int = 0) -> None:
    await leads.update(people.workspace, people.ids[which], LeadPatch(name=f"{NAME} {which}"), unchanged={})


async def rename_together(people: People) -> None:
    """The first two begin alone, and the person shares the statement of those that come meanwhile."""
    answers = await asyncio.gather(*(rename(people, which) for which in (2, 3, 0, 1)), return_exceptions=True)
    for answer in answers:
        if answer is not None:
            raise answer


async def rename_and_keep(people: People) -> None:
    """With what is answered, as under an idempotency key: in a transaction."""
    async with db.transaction():
        await rename(people)


async def says(people: People) -> None:
    await conversations.add_message(people.workspace, people.conversations[0], "user", "Hello again")


async def is_captured(people: People) -> None:
    """In another conversation."""
    found = LeadPatch(email=people.address, score=5)
    await conversations.capture_lead(people.workspace, people.stranger, found)


async def ends(people: People) -> None:
    await conversations.end(people.workspace, people.conversations[0], "api")


async def erase(people: People) -> None:
    await erasure.erase_lead(people.workspace, people.ids[0])


async def erase_address(people: People) -> None:
    await erasure.erase_person(people.workspace, people.address)


async def copy(people: People) -> None:
    """All that is known of them."""
    async for _ in person_copy.as_json(people.workspace, people.ids[0]):
        pass


async def _download(kind: Kind, query: object, people: People) -> list[Any]:
    created = await exports.create(people.workspace, kind, "ndjson", "")
    job = await exported.stored(people.workspace, created.id)
    rows = [row async for some in exported.rows(people.workspace, job, query, "") for row in some]
    await exports.note(people.workspace, created.id, len(rows), ended=True)
    return rows


async def download_leads(people: People) -> None:
    """Each once, and nobody else is left out."""
    ids = [lead.id for lead in await _download("leads", LeadQuery(), people)]
    assert sorted(ids) in (people.ids, people.ids[1:]), ids


async def download_messages(people: People) -> None:
    await _download("messages", ConversationQuery(), people)


async def download_events(people: People) -> None:
    rows = await _download("events", EventsQuery(), people)
    assert len({event.id for event in rows}) == len(rows)


Deed = Callable[[People], Awaitable[None]]
CHANGES: Final[tuple[Deed, ...]] = (rename, rename_together, rename_and_keep, says, is_captured, ends)
ERASURES: Final[tuple[Deed, ...]] = (erase, erase_address)
EXPORTS: Final[tuple[Deed, ...]] = (copy, download_leads, download_messages, download_events)
OTHERS: Final[dict[Deed, tuple[Deed, ...]]] = (
    dict.fromkeys(CHANGES, (*ERASURES, *EXPORTS))
    | dict.fromkeys(ERASURES, (*CHANGES, *ERASURES, *EXPORTS))
    | dict.fromkeys(EXPORTS, (*CHANGES, *ERASURES))
)
"""What each may meet."""


async def meet(people: People, first: Deed, second: Deed) -> tuple[int, list[str]]:
    """Let two deeds meet in every order. Return how many orders, and what does not hold."""
    violations: list[str] = []
    orders = 0

    async def play(order: Order, patient: bool) -> tuple[Session, Session]:
        nonlocal orders
        orders += 1
        await kept.restore()
        sessions = await interleave([partial(one, people) for one in (first, second)], TABLES, order, patient=patient)
        errors = [session.error() for session in sessions]
        wrong = [repr(error) for error in errors if error is not None and not isinstance(error, DomainError)]
        wrong += await _broken(people, {first, second})
        violations.extend(f"{first.__name__}, {second.__name__}, {order}: {what}" for what in wrong)
        return sessions

    await each_order(play)
    return orders, violations


async def _broken(people: People, done: set[Deed]) -> list[str]:
    """Events and changes agree. What is erased is nowhere; who was captured again can be erased again."""
    try:
        await assert_one_truth(people.world)
        erased = not done.isdisjoint(ERASURES)
        if not erased or is_captured in done:
            await erasure.erase_person(people.workspace, people.address)
        left = [f"left in {table}" for table, rows in (await make.stored()).items() if _names(people, rows)]
        with_id = await db.value("SELECT EXISTS (SELECT 1 FROM lead WHERE id = $1)", people.ids[0])
    except Exception as error:  # noqa: BLE001 - whatever it is, the others are tried
        return [repr(error)]
    return [*left, *(["is not erased"] if with_id else [])]


def _names(people: People, rows: list[str]) -> bool:
    """Whether one of the rows names the first person."""
    return any(name in row for row in rows for name in (people.address, f"{NAME} 0"))

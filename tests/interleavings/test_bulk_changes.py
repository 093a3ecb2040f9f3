"""Two changes of the same leads at once: each lead is changed by one of them, and is left alone by the other."""

import re
from collections import Counter
from functools import partial
from itertools import product
from typing import Final

import pytest

from leadwire.domain.bulk_changes import changes, jobs
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.jobs import Claimed
from tests import make
from tests.interleavings import kept
from tests.interleavings.sessions import Order, Session, each_order, interleave

LEADS: Final = 2
TABLES: Final = re.compile(r"\b(?:lead|bulk_change|conversation|event)\b")
EVENT: Final = {"set": "lead.updated", "erase": "lead.deleted"}


async def _finish(workspace: str, bulk_id: str) -> None:
    """As its job does."""
    while await jobs.make(Claimed(bulk_id, workspace)):
        pass


async def _wrong(leads: list[str]) -> list[str]:
    rows = await db.rows("SELECT kind, state, done, skipped FROM bulk_change ORDER BY id")
    wrong = [f"{row} has not come to its end" for row in rows if row["state"] != "finished"]
    wrong += [f"{row} counts wrongly" for row in rows if row["done"] + row["skipped"] != LEADS]
    if sum(row["done"] for row in rows) != LEADS:
        wrong.append(f"some lead was not changed by just one: {rows}")
    events = Counter(await make.kinds())
    for kind, event in EVENT.items():
        if events[event] != sum(row["done"] for row in rows if row["kind"] == kind):
            wrong.append(f"{events[event]} {event}: {rows}")
    there = [row["id"] for row in await db.rows("SELECT id FROM lead ORDER BY id")]
    if len(there) != LEADS - events["lead.deleted"]:
        wrong.append(f"{there} are left of {leads}")
    return wrong


@pytest.mark.usefixtures("planned_once")
@pytest.mark.parametrize("kinds", [*product(EVENT, repeat=2)], ids=" and ".join)
async def test_of_two_changes_of_a_lead_one_is_made_whatever_the_order(workspace, bot, kinds, record_property):
    with clock.at(clock.ago(hours=1)):
        leads = [(await make.somebody(workspace, bot)).id for _ in range(LEADS)]
        await db.rows("DELETE FROM event")
    seen, admin = clock.iso(clock.ago(minutes=30)), await make.user(workspace, "admin")
    values = {"set": ("stage", "Won"), "erase": ()}
    begun = [await changes.begin(workspace, admin, kind, leads, seen, *values[kind]) for kind in kinds]
    await kept.keep()
    orders = 0
    violations: list[str] = []

    async def play(order: Order, patient: bool) -> tuple[Session, Session]:
        nonlocal orders
        orders += 1
        await kept.restore()
        works = [partial(_finish, workspace, bulk_id) for bulk_id in begun]
        sessions = await interleave(works, TABLES, order, patient=patient)
        wrong = [repr(error) for error in (session.error() for session in sessions) if error]
        violations.extend(f"{order}: {what}" for what in wrong + await _wrong(leads))
        return sessions

    await each_order(play)
    record_property("interleavings", [f"bulk changes, {' and '.join(kinds)}", 1, orders, 0, len(violations)])
    assert not violations, "\n".join(violations)

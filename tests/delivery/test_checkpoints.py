"""Checkpoints: what a receiver should have, up to the end of the stream, told so that it can compute it itself."""

import hashlib

import pytest

from leadwire.delivery import checkpoints
from leadwire.domain.privacy import erasure
from leadwire.domain.webhooks import changes
from leadwire.infrastructure import db
from tests.delivery.test_numbers import numbered, people
from tests.delivery.wired import endpoint


def digest(receiver, *numbers: int) -> str:
    """Computed from what arrived, as documented."""
    ids = {int(one.headers["x-service-sequence"]): one.webhook_id for one in receiver.deliveries}
    return hashlib.sha256("".join(f"{number} {ids[number]}\n" for number in numbers).encode()).hexdigest()


async def test_it_covers_all_up_to_the_last_number(workspace, bot, wire, receiver):
    made = await numbered(workspace, receiver)
    await people(workspace, bot, 4)
    await wire.turn()
    found = await checkpoints.read(workspace, made, 0)
    assert (found.last, found.highest, found.count, found.open, found.gone) == (4, 4, 4, [], [])
    assert found.digest == digest(receiver, 1, 2, 3, 4)
    found = await checkpoints.read(workspace, made, 3)
    assert (found.after, found.last, found.count, found.digest) == (3, 4, 1, digest(receiver, 4))


async def test_what_has_no_number_yet_is_not_in_it(workspace, bot, wire, receiver):
    made = await numbered(workspace, receiver)
    await people(workspace, bot, 2)
    await wire.relay()
    found = await checkpoints.read(workspace, made, 0)
    assert (found.last, found.highest, found.count) == (0, 0, 0)
    assert found.digest == hashlib.sha256().hexdigest()
    plain = await endpoint(workspace, receiver.url)
    assert (await checkpoints.read(workspace, plain.id, 7)).last == 7


async def test_what_is_on_its_way_is_told_apart_and_dead_letters_are_missed(workspace, bot, wire, receiver, db_clock):
    made = await numbered(workspace, receiver)
    receiver.answer = lambda one: 500 if one.headers["x-service-sequence"] == "2" else 204
    await people(workspace, bot, 3)
    await wire.turn()
    found = await checkpoints.read(workspace, made, 0)
    assert (found.open, found.gone, found.count, found.digest) == ([(2, 2)], [], 2, digest(receiver, 1, 3))
    for seconds in (61, 301, 1801):
        await db_clock.forward(seconds)
        await wire.turn()
    found = await checkpoints.read(workspace, made, 0)
    assert (found.open, found.gone, found.count, found.digest) == ([], [], 3, digest(receiver, 1, 2, 3))


async def test_what_cannot_be_sent_any_more_is_gone(workspace, bot, wire, receiver):
    """Erased after it was delivered, canceled while it waited, and past retention."""
    made = await numbered(workspace, receiver)
    receiver.answer = lambda one: 500 if one.headers["x-service-sequence"] == "3" else 204
    leads = await people(workspace, bot, 6)
    await wire.turn()
    by_number = {int(one.headers["x-service-sequence"]): one.webhook_id for one in receiver.deliveries}
    about = await db.rows("SELECT lead_id FROM event WHERE id = ANY($1)", [by_number[2], by_number[3]])
    for lead in leads:
        if lead.id in {row["lead_id"] for row in about}:
            await erasure.erase_lead(workspace, lead.id)
    await db.rows("DELETE FROM delivery_result WHERE sequence IN (5, 6)")
    found = await checkpoints.read(workspace, made, 0)
    assert (found.last, found.open, found.gone) == (6, [], [(2, 3), (5, 6)])
    assert (found.count, found.digest) == (2, digest(receiver, 1, 4))
    assert (await checkpoints.read(workspace, made, 4)).gone == [(5, 6)]


async def test_a_checkpoint_is_bounded_and_the_next_one_goes_on(workspace, bot, wire, receiver, monkeypatch):
    monkeypatch.setattr(checkpoints, "MOST", 2)
    made = await numbered(workspace, receiver)
    await people(workspace, bot, 5)
    await wire.turn()
    after, seen = 0, []
    while after < 5:
        found = await checkpoints.read(workspace, made, after)
        assert (found.highest, found.digest) == (5, digest(receiver, *range(after + 1, found.last + 1)))
        seen.append((found.after, found.last, found.count))
        after = found.last
    assert seen == [(0, 2, 2), (2, 4, 2), (4, 5, 1)]


async def test_it_is_of_one_endpoint(workspace, bot, wire, receiver):
    made = [await numbered(workspace, receiver) for _ in range(2)]
    await people(workspace, bot, 1)
    await wire.turn()
    await changes.disable(workspace, made[1])
    await people(workspace, bot, 1)
    await wire.turn()
    assert [(await checkpoints.read(workspace, one, 0)).highest for one in made] == [2, 1]


@pytest.mark.parametrize("numbers", [[], [1], [1, 2, 3], [1, 3, 4, 7]])
def test_ranges_and_what_is_between_them(numbers):
    there = checkpoints._ranges(numbers)
    between = checkpoints._between(0, numbers, 8)
    assert sorted(n for first, last in there for n in range(first, last + 1)) == numbers
    covered = [n for first, last in sorted(there + between) for n in range(first, last + 1)]
    assert covered == list(range(1, 9))

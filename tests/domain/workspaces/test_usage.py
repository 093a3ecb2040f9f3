"""What a workspace has: counted, or estimated where there is much; and how near its quotas are to their end."""

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.changes import workspaces
from leadwire.domain.bots import changes as bots
from leadwire.domain.workspaces import changes, usage
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import Invalid, NotFound, QuotaExceeded
from leadwire.interfaces.cli import workspaces as cli
from tests import make
from tests.domain.accounts.test_quotas import ADDITIONS, limits  # noqa: F401 - a fixture


def rows(one: usage.Usage) -> dict[str, str]:
    return {kind: str(amount) for kind, amount in one.amounts.items()}


async def test_what_is_few_is_counted(workspace, bot):
    await changes.create("Other")
    for _ in range(3):
        await make.somebody(workspace, bot)
    await make.conversation(workspace, bot)
    found = await usage.one(workspace)
    assert (found.name, found.state) == ("Test", "active")
    assert rows(found) == {"leads": "3", "conversations": "4", "messages": "4", "events": "11"}
    assert found.bytes > 0
    other = (await usage.page())[0][1]
    assert rows(other) == dict.fromkeys(rows(found), "0")
    assert other.bytes == 0
    assert {quota: used.count for quota, used in found.quotas.items()} == {
        "endpoints": 0, "bots": 1, "users": 0, "api_keys": 0,
    }  # fmt: skip


async def test_what_is_many_is_estimated_and_said_to_be(workspace, bot, monkeypatch):
    monkeypatch.setattr(usage, "_PER_PAGE", 5)
    other = await accounts.create_workspace("Other")
    for place, count in ((workspace, 30), (other, 10)):
        in_bot = await bots.create(place, "Bot")
        for _ in range(count):
            await make.somebody(place, in_bot)
    await db.rows("DELETE FROM pg_statistic WHERE starelid = 'lead'::regclass")
    (mine, theirs), after = await usage.page()
    assert after is None
    assert [str(one.amounts["leads"]) for one in (mine, theirs)] == ["more than 5", "more than 5"]
    for table in ("lead", "conversation", "message", "event"):
        await db.rows(f"ANALYZE {table}")
    (mine, theirs), _ = await usage.page()
    assert rows(mine) == {kind: f"about {30 * times}" for kind, times in TIMES.items()}
    assert rows(theirs) == {kind: f"about {10 * times}" for kind, times in TIMES.items()}
    assert mine.bytes == pytest.approx(3 * theirs.bytes, rel=0.01)
    sizes = await db.value("SELECT pg_total_relation_size('lead')")
    assert mine.amounts["leads"].bytes + theirs.amounts["leads"].bytes == pytest.approx(sizes, rel=0.01)
    assert rows(await usage.one(other))["leads"] == "10"  # of one alone ten times as many are counted


TIMES = {"leads": 1, "conversations": 1, "messages": 1, "events": 3}


async def test_pages_follow_each_other(workspace):
    made = [workspace, *[(await changes.create(f"W{number}"))[0] for number in range(4)]]
    seen, after = [], ""
    while after is not None:
        found, after = await usage.page(after, 2)
        seen += [one.id for one in found]
    assert seen == sorted(made)


async def test_one_that_is_not_there(database):
    with pytest.raises(NotFound):
        await usage.one("ws_nothing")
    with pytest.raises(NotFound):
        await workspaces.set_quota("ws_nothing", "bots", 1)


@pytest.mark.parametrize("quota", ADDITIONS)
async def test_a_quota_of_its_own_holds_for_this_workspace_alone(workspace, bot, limits, quota):  # noqa: F811
    limits(**{f"max_{quota}": 3})
    other = await accounts.create_workspace("Other")
    add, _ = ADDITIONS[quota]
    await workspaces.set_quota(workspace, quota, 1)
    if quota != "bots":
        await add(workspace, bot, 0)
    with pytest.raises(QuotaExceeded, match="`leadwire workspaces quota`"):
        await add(workspace, bot, 1)
    theirs = await bots.create(other, "Theirs")
    for number in range(2):
        await add(other, theirs, number + 2)
    await workspaces.set_quota(workspace, quota, None)
    await add(workspace, bot, 4)
    entries = await db.rows("SELECT detail FROM audit_entry WHERE action = 'workspace.quota_changed' ORDER BY id")
    assert [row["detail"] for row in entries] == [f"{quota}: 3 -> 1", f"{quota}: 1 -> 3"]


@pytest.mark.parametrize(("quota", "most"), [("bots", -1), ("bots", 2**31), ("requests", 0)])
async def test_a_quota_that_is_none_is_refused(workspace, quota, most):
    with pytest.raises(Invalid):
        await workspaces.set_quota(workspace, quota, most)


async def test_a_quota_near_its_end_is_told_of(workspace, limits):  # noqa: F811
    limits(max_bots=10)
    other, _ = await changes.create("Other")
    for number in range(9):
        await bots.create(workspace, f"Bot {number}")
    await bots.create(other, "Bot")
    assert await usage.near() == [usage.Near(workspace, "Test", "bots", 9, 10)]
    await workspaces.set_quota(workspace, "bots", 11)
    await workspaces.set_quota(other, "bots", 1)
    assert await usage.near() == [usage.Near(other, "Other", "bots", 1, 1)]
    assert [one.quotas["bots"].near for one in (await usage.page())[0]] == [False, True]


@pytest.mark.parametrize(
    ("address", "said"), [("https://b.example", "https://b.example"), ("", "another installation")]
)
async def test_of_one_that_has_moved_it_says_where(workspace, address, said):
    await workspaces.leave(workspace, "move", address)
    moved = await usage.one(workspace)
    assert (moved.state, moved.moved_to) == ("moved", address)
    assert f"moved to {said}, since" in cli._shown(moved).splitlines()[0]

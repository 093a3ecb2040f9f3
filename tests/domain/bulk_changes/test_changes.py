"""Changes of many leads that were stopped."""

import msgspec
import pytest

from leadwire.domain.bulk_changes import changes
from leadwire.domain.bulk_changes import jobs as bulk_jobs
from leadwire.domain.leads.reads import LeadSearch
from leadwire.domain.listing import keyset
from leadwire.domain.listing.queries import SearchQuery
from leadwire.infrastructure import clock, db
from tests import jobs, make, statements


async def _dies(*_):
    raise ConnectionError


async def test_nobody_else_is_erased_when_it_goes_on(workspace, bot, monkeypatch):
    """The list shows who has exactly this address; what else contains it was not shown."""
    other = await make.lead(workspace, bot, email="ada@example.community")
    await make.lead(workspace, bot, email="ada@example.com")
    wanted = LeadSearch(q="ada@example.com")
    await changes.begin(workspace, await make.user(workspace, "admin"), "erase", wanted, clock.iso(clock.now()))
    with monkeypatch.context() as patched:
        patched.setattr(changes, "end", _dies)
        await jobs.run("bulk_change")
    await jobs.make_due("bulk_change")
    await jobs.run("bulk_change")
    assert [row["id"] for row in await db.rows("SELECT id FROM lead")] == [other.id]


async def test_nobody_is_left_out_for_a_lead_that_is_deleted_meanwhile(workspace, bot, monkeypatch):
    """A step that looks at two leads goes on behind them, though the first of them is gone by then."""
    monkeypatch.setattr(keyset, "LOOKED_AT", 2)
    leads = [await make.lead(workspace, bot, email=f"{n}@example.com", name=name) for n, name in enumerate("AAZAA")]
    first = True

    async def deleted(sql, _):
        nonlocal first
        if "FROM lead " in sql and not first:
            await db.rows("DELETE FROM lead WHERE id = $1", leads[-1].id)
        first = first and "FROM lead " not in sql

    wanted = LeadSearch(q="Z")
    await changes.begin(workspace, await make.user(workspace, "admin"), "set", wanted, clock.iso(clock.now()), "a", "b")
    with statements.before_each(deleted):
        await jobs.run("bulk_change")
    assert tuple(await db.row("SELECT state, done FROM bulk_change")) == ("finished", 1)


class _FewerFilters(SearchQuery, frozen=True, kw_only=True):
    """How a version that knows one custom field reads what is stored."""

    field: str = ""
    test: str = "equals"
    value: str = ""


async def test_a_version_with_fewer_filters_makes_no_change_that_has_more(workspace, bot):
    """Two versions run at once during an upgrade: what the older one does not know it must not leave out."""
    for number, country in enumerate(("DE", "FR")):
        fields = {"stage": "lost", "country": country}
        await make.lead(workspace, bot, email=f"{number}@example.com", custom_fields=fields)
    wanted = LeadSearch(field="stage", value="lost", field2="country", value2="DE")
    await changes.begin(workspace, await make.user(workspace, "admin"), "erase", wanted, clock.iso(clock.now()))
    stored = await db.value("SELECT query FROM bulk_change")
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(stored, type=_FewerFilters)
    await db.rows("UPDATE bulk_change SET query = replace(query, 'field2', 'field9')")  # of a later version
    await jobs.run("bulk_change")
    assert await db.value("SELECT error FROM job WHERE kind = 'bulk_change'")
    await db.rows("UPDATE bulk_change SET query = $1", stored)
    await jobs.make_due("bulk_change")
    await jobs.run("bulk_change")
    assert [row["email"] for row in await db.rows("SELECT email FROM lead")] == ["1@example.com"]


async def test_what_the_version_before_has_begun_goes_on(workspace, bot):
    await make.lead(workspace, bot)
    wanted = LeadSearch(q="Ada")
    await changes.begin(workspace, await make.user(workspace, "admin"), "erase", wanted, clock.iso(clock.now()))
    await db.rows("UPDATE bulk_change SET query = trim(query, '[]')")
    await db.rows("DELETE FROM job")
    await jobs.run("bulk_change")
    assert await db.value("SELECT count(*) FROM lead") == 0


@pytest.mark.parametrize(("role", "changed"), [("admin", 1), ("agent", 1), ("viewer", 0)])
async def test_a_field_is_set_only_while_it_may_be(workspace, bot, role, changed):
    lead = await make.lead(workspace, bot)
    began = await make.user(workspace)
    await changes.begin(workspace, began, "set", [lead.id], clock.iso(clock.now()), "stage", "Won")
    await db.rows("UPDATE user_account SET role = $1", role)
    await jobs.run("bulk_change")
    assert await db.value("SELECT done FROM bulk_change") == changed


async def test_the_right_to_it_is_looked_at_for_each_lead(workspace, bot, monkeypatch):
    """Who is demoted while a step is under way erases nobody more."""
    leads = [(await make.lead(workspace, bot, email=f"{n}@example.com")).id for n in range(3)]
    await changes.begin(workspace, await make.user(workspace, "admin"), "erase", leads, clock.iso(clock.now()))
    erase = bulk_jobs.erasure.erase_lead

    async def demoted_after_it(*given, **more):
        await erase(*given, **more)
        await db.rows("UPDATE user_account SET role = 'agent'")

    monkeypatch.setattr(bulk_jobs.erasure, "erase_lead", demoted_after_it)
    await jobs.run("bulk_change")
    assert await db.value("SELECT count(*) FROM lead") == 2
    assert tuple(await db.row("SELECT state, done, skipped FROM bulk_change")) == ("stopped", 1, 0)


async def test_what_has_ended_keeps_nothing_that_an_erasure_would_have_to_find(workspace, bot):
    lead = await make.lead(workspace, bot)
    began = await make.user(workspace)
    for wanted in ([lead.id], LeadSearch(q="Lovelace")):
        await changes.begin(workspace, began, "set", wanted, clock.iso(clock.now()), "friend", "Bo Miller")
    await jobs.run("bulk_change")
    kept = await db.rows("SELECT query, ids, value FROM bulk_change")
    assert [tuple(one) for one in kept] == [("", None, "")] * 2


async def test_what_ended_a_month_ago_is_deleted_and_what_runs_is_not(workspace, bot, db_clock):
    lead, user = await make.lead(workspace, bot), await make.user(workspace)
    ended, _running = [
        await changes.begin(workspace, user, "set", [lead.id], clock.iso(clock.now()), "stage", "Won") for _ in range(2)
    ]
    await changes.cancel(workspace, user, ended, others=False)
    await db_clock.forward(29 * 86400)
    await jobs.run("bulk_change.delete")
    assert await db.value("SELECT count(*) FROM bulk_change") == 2
    await db_clock.forward(2 * 86400)
    await jobs.run("bulk_change.delete")
    assert [row["state"] for row in await db.rows("SELECT state FROM bulk_change")] == ["running"]

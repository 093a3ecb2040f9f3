"""Leads on the screen: the list, its filters and pages, and the files made of it."""

import csv
import io
import json
import re
from datetime import timedelta

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.leads import reads
from leadwire.domain.leads.reads import LeadSearch
from leadwire.domain.listing import keyset, listing
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db.engine import LIMITS
from tests import make
from tests.interfaces.web.hostile import FORMULAS, SCRIPTS, harmless


def names(page: str) -> list[str]:
    return re.findall(r'<a class="cover" href="/leads/\w+">([^<]*)</a>', page)


def onward(page: str) -> str | None:
    found = re.search(r'href="([^"]*after=[^"]*)" data-update="main">(?:Next page|Look further)', page)
    return found[1].replace("&amp;", "&") if found else None


async def several(workspace, bot, *people, **same):
    """Leads a minute apart, the last one the newest."""
    for number, name in enumerate(people):
        with clock.at(clock.ago(minutes=len(people) - number)):
            await make.lead(workspace, bot, **{"name": name, "email": f"{name}@example.com".lower(), **same})


async def test_nobody_yet(viewer):
    assert "No lead yet" in await viewer.open("/leads")


async def test_newest_first_or_oldest_or_by_score(viewer, workspace, bot):
    for name, score in (("Ada", 10), ("Bo", 90), ("Cy", 90)):
        await several(workspace, bot, name, score=score)
    assert names(await viewer.open("/leads")) == ["Cy", "Bo", "Ada"]
    assert names(await viewer.open("/leads?sort=oldest")) == ["Ada", "Bo", "Cy"]
    assert names(await viewer.open("/leads?sort=score")) == ["Cy", "Bo", "Ada"]


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("ada", ["Ada"]),
        ("LOVELACE", ["Ada"]),
        ("ada engines", ["Ada"]),
        ("bo@example.com", ["Bo"]),
        ("BO@example.com", ["Bo"]),
        ("@example.com", ["Bo", "Ada"]),
        ("%", []),
        ("_", []),
        ("\\", []),
        ("nobody", []),
    ],
)
async def test_searching(viewer, workspace, bot, q, found):
    await several(workspace, bot, "Ada", company="Lovelace Engines")
    await several(workspace, bot, "Bo", company="Acorn")
    page = await viewer.get("/leads", params={"q": q})
    assert page.status_code == 200
    assert names(page.text) == found


async def test_filters(viewer, workspace, bot):
    other = await bots.create(workspace, "Other")
    await several(workspace, bot, "Ada", score=20)
    await several(workspace, other, "Bo", score=80)
    with clock.at(clock.ago(days=3)):
        await make.lead(workspace, bot, name="Cy", email="cy@example.com", score=50)
    day = f"{clock.ago(days=3):%Y-%m-%d}"
    assert names(await viewer.open(f"/leads?bot_id={other}&q=")) == ["Bo"]
    assert names(await viewer.open("/leads?score_min=50")) == ["Bo", "Cy"]
    assert names(await viewer.open(f"/leads?since={day}&until={day}")) == ["Cy"]
    assert "No lead matches" in await viewer.open("/leads?score_min=81")


@pytest.mark.parametrize("sort", ["newest", "oldest", "score"])
async def test_pages_join_up_whatever_is_added_meanwhile(workspace, bot, sort):
    people = [f"P{number}" for number in range(7)]
    for person in people:
        await several(workspace, bot, person, score=50)
    seen, after = [], ""
    while after is not None:
        found = await reads.search(workspace, LeadSearch(sort=sort, after=after), 2)
        seen += [lead.name for lead in found.items]
        after = found.after
        if len(seen) == 2:
            with clock.at(clock.ago(days=1) if sort == "oldest" else clock.now()):
                await make.lead(workspace, bot, name="Late", email="late@example.com", score=100)
    assert seen == (people if sort == "oldest" else people[::-1])


async def test_the_next_page_keeps_the_filters(viewer, workspace, bot):
    for number in range(52):
        await make.lead(workspace, bot, name=f"P{number}", email=f"p{number}@example.com", score=60)
    await make.lead(workspace, bot, name="Low", email="low@example.com", score=1)
    page = await viewer.open("/leads?score_min=60&q=")
    assert "52 leads" in page
    assert len(names(page)) == 50
    following = await viewer.open(onward(page))
    assert names(following) == ["P1", "P0"]
    assert onward(following) is None


async def test_a_search_stops_after_so_many_and_goes_on_from_there(viewer, workspace, bot, monkeypatch):
    await several(workspace, bot, "Ada", *(f"P{number}" for number in range(5)))
    monkeypatch.setattr(keyset, "LOOKED_AT", 3)
    page = await viewer.open("/leads?q=ada")
    assert names(page) == []
    assert "Look further" in page
    assert names(await viewer.open(onward(page))) == ["Ada"]


@pytest.mark.parametrize(
    "after",
    [
        "x",
        "1.2.3.4",
        "99999999999999999999.lead_01m7yjs791eyvrez20z8kad45f",
        "-1.lead_01m7yjs791eyvrez20z8kad45f",
        "1.lead_1' OR 1=1",
        "1.",
        ".",
        "1.lead_01m7yjs791eyvrez20z8kad45f.",
        "²5.lead_01m7yjs791eyvrez20z8kad45f",
        "a" * 101,
    ],
)
async def test_an_odd_cursor_is_refused(viewer, after):
    for sort in ("newest", "score"):
        answer = await viewer.get("/leads", params={"after": after, "sort": sort})
        assert answer.status_code == 400


@pytest.mark.parametrize("query", ["sort=name", "score_min=101", "since=yesterday", "bot_id=x", "q=%00"])
async def test_odd_filters_are_refused(viewer, query):
    await viewer.open(f"/leads?{query}", 400)


async def test_another_workspace_s_leads_are_not_there(viewer):
    elsewhere = await accounts.create_workspace("Other")
    theirs = await bots.create(elsewhere, "Theirs")
    lead = await make.lead(elsewhere, theirs)
    for query in ("", "?q=ada@example.com", "?q=ada", f"?bot_id={theirs}"):
        page = await viewer.open(f"/leads{query}")
        assert names(page) == []
    await viewer.open(f"/leads/{lead.id}", 404)


@pytest.mark.parametrize("typed", SCRIPTS)
async def test_what_visitors_typed_is_text(viewer, workspace, bot, typed):
    await make.lead(workspace, bot, name=typed, company=typed)
    harmless(await viewer.open("/leads"))
    harmless((await viewer.get("/leads", params={"q": typed})).text)


async def exported(agent, kind, query=""):
    await agent.open("/leads")
    answer = await agent.post(f"/leads/export{query}", data={"form_token": agent.token, "format": kind})
    assert answer.status_code == 200, answer.text[:300]
    assert f'.{kind}"' in answer.headers["content-disposition"]
    return answer


async def test_csv_opens_in_a_spreadsheet_and_runs_nothing(agent, workspace, bot):
    for number, formula in enumerate(FORMULAS):
        await make.lead(
            workspace, bot, name=formula, email=f"f{number}@example.com", company='He said "hi", then\tleft'[:17]
        )
    await make.lead(workspace, bot, name="Zoë", phone="+442079460000", custom_fields={"stage": "won", "seats": 3})
    answer = await exported(agent, "csv")
    assert answer.content.startswith(b"\xef\xbb\xbfid,")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"), newline="")))
    assert [row["name"] for row in rows[1:]] == [f"'{formula}" for formula in FORMULAS][::-1]
    assert rows[0]["name"] == "Zoë"
    assert rows[0]["phone"] == "'+442079460000"
    assert json.loads(rows[0]["custom_fields"]) == {"stage": "won", "seats": 3}
    assert rows[1]["company"] == 'He said "hi", the'


@pytest.mark.parametrize("separator", [";", "\t", "|"])
async def test_csv_runs_nothing_where_cells_are_separated_by_something_else(agent, workspace, bot, separator):
    """A spreadsheet of such a locale begins a new cell inside of ours."""
    evil = f'x{separator}=1+1{separator} +1{separator}"@SUM(1)"'
    await make.lead(
        workspace, bot, name=evil.replace("\t", " "), custom_fields={"note": f"x;=1+1|{evil}".replace("\t", " ")}
    )
    await db.rows("UPDATE lead SET name = $1", evil)  # the API takes no tabs
    text = (await exported(agent, "csv")).content.decode("utf-8-sig")
    for cell in re.split(r"[;\t|\r\n]", text):
        assert not re.match(r"[\s\"]*[=+@-]", cell), cell
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    assert row["name"] == f"x{separator}'=1+1{separator}' +1{separator}'\"@SUM(1)\""
    assert json.loads(row["custom_fields"])["note"].startswith("x;'=1+1|")


async def test_json_is_exactly_what_is_kept(agent, workspace, bot):
    lead = await make.lead(workspace, bot, name="=1+1", phone="+442079460000")
    assert (await exported(agent, "json")).json()[0]["id"] == lead.id
    await db.rows("DELETE FROM lead")
    assert (await exported(agent, "json")).json() == []


async def test_an_export_has_all_that_match_and_no_more(agent, workspace, bot, monkeypatch):
    monkeypatch.setattr(listing, "AT_ONCE", 2)
    await several(workspace, bot, *(f"P{number}" for number in range(7)), score=70)
    await several(workspace, bot, "Low", score=10)
    for kind in ("json", "csv"):
        answer = await exported(agent, kind, "?score_min=50&q=p")
        found = answer.json() if kind == "json" else list(csv.DictReader(io.StringIO(answer.text)))
        assert [one["name"] for one in found] == [f"P{number}" for number in range(6, -1, -1)]


async def test_an_export_is_noted(agent, workspace, bot):
    await exported(agent, "csv")
    entry = await db.row("SELECT actor, action, detail FROM audit_entry WHERE action = 'leads.exported'")
    assert tuple(entry) == ("grace@example.org", "leads.exported", "csv")


async def test_an_export_needs_a_format_and_a_sound_filter(agent):
    await agent.open("/leads")
    await agent.fill("/leads/export", 422, format="xlsx")
    await agent.fill("/leads/export?sort=x", 400, format="csv")


async def test_a_page_whose_statement_takes_too_long_says_so(agent, monkeypatch):
    async def slow(*_: object, **__: object) -> object:
        return await db.value("SELECT pg_sleep(600)")

    monkeypatch.setattr(reads, "search", slow)
    monkeypatch.setitem(LIMITS, "pages", 0.5)
    answer = await agent.get("/leads")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "took too long" in answer.text
    monkeypatch.undo()
    await agent.open("/leads")


async def test_days_are_whole_and_in_utc(workspace, bot):
    midnight = clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    moments = [midnight - timedelta(milliseconds=1), midnight, midnight + timedelta(hours=24, milliseconds=-1)]
    for number, moment in enumerate(moments):
        with clock.at(moment):
            await make.lead(workspace, bot, email=f"p{number}@example.com")
    today = LeadSearch(since=midnight, until=midnight)
    assert len((await reads.search(workspace, today)).items) == await reads.total(workspace, today) == 2

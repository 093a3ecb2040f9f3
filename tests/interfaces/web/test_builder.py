"""The builder's pages: drafts of every kind are shown, and forms of every kind are answered."""

import json
import re

import pytest

from leadwire.domain.bots import changes, reads
from leadwire.domain.bots.builder import editing, fields, variables
from leadwire.domain.bots.builder.rewriting import written
from leadwire.domain.bots.changes import drafts
from leadwire.domain.bots.flow import library
from leadwire.domain.bots.flow.nodes import MAX_NODES
from leadwire.domain.bots.flow.parse import read
from leadwire.infrastructure import db, preconditions
from leadwire.interfaces.web import step_labels
from tests.domain.bots.flows import PRIVACY

ODD = [
    "",
    "a = 1",
    "nodes = 3",
    "[[nodes]]",
    '[[nodes]]\nid = "x"\n',
    '[[nodes]]\nid = "x"\ntype = ["ask"]\n',
    '[[nodes]]\nid = "x"\ntype = "ask"\ntext = 3\noptions = [1, { label = [], next = 7, score = "a" }]\nnext = []\n',
    '[[nodes]]\nid = "x"\ntype = "branch"\ncases = [{ when = 1 }, { when = { all = [3, { var = 1, op = [] }] } }]\n',
    '[[nodes]]\nid = "x"\ntype = "say"\ntext = "</textarea><script>alert(1)</script>"\nnext = "\\"><script>alert(1)"\n',
    '[[nodes]]\nid = "\\"><script>alert(1)</script>"\ntype = "say"\nimage = "x"\nlinks = { a = 1 }\n',
    '[[nodes]]\nid = "x"\ntype = "say"\ntext = 2026-01-01T00:00:00Z\nimage = { url = nan, alt = inf }\n',
    "{",
    "x" * 1000,
    '{"nodes": [{"id": "x", "type": "score", "rules": [{}, null, {"when": null}], "next": null}]}',
    '{"nodes": [{"id": "x", "type": "end", "²": 1, "a/b": 1, "links": [{"²": 1, "%s": 1}]}], "²": 1}' % ("9" * 5000),
    '{"hours": [{"days": 5}, {"days": true}], "nodes": [{"id": "x", "type": "ask", "text": "?", "next": "x"}]}',
    '{"nodes": [{"id": "x", "type": "branch", "cases": [{"when": {"all": [{"var": ["a"], "op": {}, "value": ""}]}}]}]}',
]


@pytest.fixture
async def greeter(workspace):
    """A bot with nothing but a greeting."""
    made = await changes.create(workspace, "Greeter")
    await drafts.replace(workspace, made, library.BLANK)
    return made


async def draft_of(workspace, bot):
    return read((await reads.detail(workspace, bot)).draft)


def says_hers(draft):
    return editing.change(draft, "welcome", {"text": "Hers"})[0]


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
async def test_every_draft_is_shown_and_can_be_worked_on(admin, workspace, greeter, text):
    await db.rows("UPDATE bot SET draft = $2 WHERE id = $1", greeter, text)
    names = ["", "x", "nothing", '"><script>alert(1)</script>']
    for part in ("", "/text", *(f"?step={name}" for name in names)):
        page = await admin.open(f"/bots/{greeter}{part}")
        assert "<script>alert" not in page
    for form in ({"text": "Hi", "next": "new:end"}, {"do": "duplicate"}, {"add": "options"}, {"do": "delete"}):
        page = await admin.post(f"/bots/{greeter}/steps/x", data={"form_token": admin.token, **form})
        assert page.status_code in (303, 404, 409, 422)
    for path, form in (("steps", {"kind": "ask"}), ("settings", {"title": "Chat", "hours/0/days": ["mon", "tue"]})):
        page = await admin.post(f"/bots/{greeter}/{path}", data={"form_token": admin.token, **form})
        assert page.status_code in (303, 409, 422)
    await admin.open(f"/bots/{greeter}")


@pytest.mark.parametrize("form", [
    {"add": "options/9/x"}, {"add": "text"}, {"drop": "next"}, {"drop": "options/-1"}, {"next": "new:teleport"},
    {"named": "é" * 9000}, {"text": "x" * 300_000}, {"options/999/label": "x", "options/0/": "y"}, {"seen": "0" * 16},
    {"add": "/".join(["a"] * 5000)},
])  # fmt: skip
async def test_odd_forms_are_refused_and_change_nothing_or_are_kept(admin, workspace, greeter, form):
    page = await admin.post(f"/bots/{greeter}/steps/welcome", data={"form_token": admin.token, **form})
    assert page.status_code in (303, 404, 409, 422), page.text[-500:]
    draft = await draft_of(workspace, greeter)
    assert len(json.dumps(draft)) < 20_000
    await admin.open(f"/bots/{greeter}?step={editing.steps(draft)[0]['id']}")


async def test_a_flow_of_too_many_steps_is_kept_but_not_drawn(admin, workspace, greeter):
    many = library.BLANK + "".join(f'[[nodes]]\ntype = "end"\nid = "e{n}"\n' for n in range(499))
    page = await admin.fill(f"/bots/{greeter}/draft", source=many)
    assert f"There must be 1 to {MAX_NODES} nodes." in page
    page = await admin.open(f"/bots/{greeter}")
    assert "The draft cannot be drawn" in page
    assert len(page) < 30_000
    assert (await reads.detail(workspace, greeter)).draft == many
    assert "at most 300 steps" in await admin.fill(f"/bots/{greeter}/steps", 422, kind="say")


async def test_a_step_of_too_many_answers_is_kept_but_not_drawn(admin, workspace, greeter):
    answers = [{"next": "end"}] * 12_000
    nodes = [{"type": "ask", "id": "ask", "text": "?", "options": answers, "next": "end"}, {"type": "end", "id": "end"}]
    many = json.dumps({"format": 1, "start": "ask", "nodes": nodes}, separators=(",", ":"))
    await drafts.replace(workspace, greeter, many)
    for step in ("", "?step=ask"):
        page = await admin.open(f"/bots/{greeter}{step}")
        assert "The draft cannot be drawn" in page
        assert len(page) < 30_000
    await admin.fill(f"/bots/{greeter}/steps/end", do="delete")
    assert [one["id"] for one in (await draft_of(workspace, greeter))["nodes"]] == ["ask"]


async def test_what_another_did_is_shown_beside_what_was_typed(admin, workspace, greeter):
    seen = preconditions.digest(editing.step(await draft_of(workspace, greeter), "welcome"))
    await drafts.edit(workspace, greeter, "user_grace", says_hers)
    page = await admin.fill(f"/bots/{greeter}/steps/welcome", 409, text="Mine", seen=seen)
    assert "somebody changed this step while you did" in page
    assert "<dd>Hers</dd>" in page
    assert "\nMine</textarea>" in page
    await admin.fill(f"/bots/{greeter}/steps/welcome", text="Mine", seen=seen, mine="1")
    assert editing.step(await draft_of(workspace, greeter), "welcome")["text"] == "Mine"
    await drafts.edit(workspace, greeter, "user_grace", says_hers)
    page = await admin.fill(f"/bots/{greeter}/draft", 409, source=library.BLANK + "# mine\n", revision="1")
    assert "somebody changed the draft while you did" in page
    assert "# mine\n</textarea>" in page
    assert "Hers" in page


async def test_what_another_changed_of_the_whole_flow_is_shown_beside_what_was_typed(admin, workspace, greeter):
    at = f"/bots/{greeter}/settings"

    async def shown():
        page = await admin.open(f"/bots/{greeter}")
        return re.search(rf'action="{at}".*?name="seen" value="(\w+)"', page, re.DOTALL)[1]

    first = {"whole": "1", "seen": await shown()}
    await drafts.edit(workspace, greeter, "user_grace", lambda draft: editing.settings(draft, {"away_text": "Hers"}))
    page = await admin.fill(at, 409, **first, away_text="Mine", nudge_text="Hello?")
    assert "somebody changed this flow while you did" in page
    assert "<dd>Hers</dd>" in page
    assert "\nMine</textarea>" in page
    assert (await draft_of(workspace, greeter))["away_text"] == "Hers"
    await admin.fill(at, **first, away_text="Mine", tab="one", mine="1")
    await admin.fill(at, **first, away_text="Mine again", tab="one")  # what this tab did is no conflict
    await admin.fill(f"/bots/{greeter}/steps/welcome", text="Another step", tab="two")
    await admin.fill(at, **first, away_text="Mine at last", tab="one")
    assert (await draft_of(workspace, greeter))["away_text"] == "Mine at last"
    await admin.fill(at, 409, **first, away_text="Of another tab", tab="two")
    page = await admin.fill(f"/bots/{greeter}/about", 422, name="", description="", seen="0" * 16)
    assert f'name="seen" value="{await shown()}"' in page


async def test_two_tabs_of_one_person_do_not_overwrite_each_other(admin, workspace, greeter):
    seen = preconditions.digest(editing.step(await draft_of(workspace, greeter), "welcome"))
    for text in ("First", "Second"):  # before the answer to the first has come
        await admin.fill(f"/bots/{greeter}/steps/welcome", text=text, seen=seen, tab="one")
    page = await admin.fill(f"/bots/{greeter}/steps/welcome", 409, text="Third", seen=seen, tab="two")
    assert "You changed this step in another tab" in page
    assert editing.step(await draft_of(workspace, greeter), "welcome")["text"] == "Second"
    page = await admin.fill(f"/bots/{greeter}/draft", 409, source=library.BLANK, revision="1")
    assert "You changed the draft in another tab" in page


async def test_answers_are_moved_up_and_down(admin, workspace, greeter):
    await admin.fill(f"/bots/{greeter}/steps", kind="ask")
    labels = {f"options/{place}/label": label for place, label in enumerate("ABC")}
    at = f"/bots/{greeter}/steps/question"
    for move, expected in (({"up": "options/2"}, "ACB"), ({"down": "options/0"}, "BAC"), ({"up": "options/0"}, "ABC")):
        await admin.fill(at, **labels, **move)
        step = editing.step(await draft_of(workspace, greeter), "question")
        assert "".join(option["label"] for option in step["options"]) == expected
    for odd in ("options/3", "options/x", "text/0", "options", ""):
        page = await admin.post(at, data={"form_token": admin.token, **labels, "up": odd})
        assert page.status_code in (303, 404)


async def test_a_bot_is_renamed_described_and_copied(admin, workspace, greeter):
    page = await admin.fill(f"/bots/{greeter}/about", name="Shop greeter", description="Asks <b>who</b> you are")
    assert "<h1>Shop greeter</h1>" in page
    assert "Asks &lt;b&gt;who&lt;/b&gt; you are" in page
    await admin.fill(f"/bots/{greeter}/about", 422, name="", description="x")
    page = await admin.fill(f"/bots/{greeter}/about", 422, name="Shop", description="x" * 501)
    assert "At most 500 characters." in page
    page = await admin.fill(f"/bots/{greeter}/duplicate")
    assert "<h1>Copy of Shop greeter</h1>" in page
    actions = [row["action"] for row in await db.rows("SELECT action FROM audit_entry ORDER BY id")]
    assert actions.count("bot.renamed") == 1
    assert actions.count("bot.created") == 1


async def test_edits_are_noted_once_in_a_while(admin, greeter):
    for text in ("One", "Two", "Three"):
        await admin.fill(f"/bots/{greeter}/steps/welcome", text=text)
    assert await db.value("SELECT count(*) FROM audit_entry WHERE action = 'bot.draft_saved'") == 1


async def test_opening_hours_are_filled_in(admin, workspace, greeter):
    await admin.fill(f"/bots/{greeter}/settings", add="hours", title="Chat")
    hours = {"hours/0/days": ["", "mon", "fri"], "hours/0/opens": "09:00", "hours/0/closes": "17:00"}
    page = await admin.fill(f"/bots/{greeter}/settings", timezone="Europe/Berlin", **hours)
    draft = await draft_of(workspace, greeter)
    assert draft["hours"] == [{"days": ["mon", "fri"], "opens": "09:00", "closes": "17:00"}]
    assert draft["timezone"] == "Europe/Berlin"
    assert 'value="fri" checked' in page
    assert {field.name for field in fields.of("flow")} <= set(draft) | {
        field.name for field in fields.of("flow") if not field.required
    }


async def test_taking_back_is_noted_too(admin, workspace, greeter):
    await drafts.edit(
        workspace, greeter, "user_grace", lambda draft: editing.change(draft, "welcome", {"text": "A"})[0]
    )
    await admin.fill(f"/bots/{greeter}/undo")
    assert await db.value("SELECT count(*) FROM audit_entry WHERE action = 'bot.draft_saved'") == 1


async def test_what_no_form_sends_is_refused(admin, workspace, greeter):
    page = await admin.fill(f"/bots/{greeter}/steps", kind="branch")
    branch = re.search(r"/steps/([a-z-]+)", page)[1]
    await admin.fill(f"/bots/{greeter}/steps/{branch}", 422, add=f"cases/{'9' * 5000}/when/all")
    deep = "{a.b.c.d.e.f.g.h=" * 60 + "1" + "}" * 60
    await drafts.replace(workspace, greeter, f'[[nodes]]\ntype = "say"\nid = "deep"\nmore = {deep}\n')
    assert "nested too deeply" in await admin.fill(f"/bots/{greeter}/steps/deep", 422, do="duplicate")


async def test_the_address_of_the_privacy_page_is_asked_once_and_suggested_then(admin, workspace, greeter):
    await admin.fill(f"/bots/{greeter}/steps", kind="consent")
    asked = (await draft_of(workspace, greeter))["nodes"][1]
    assert not asked["links"][0].get("url")
    page = await admin.open(f"/bots/{greeter}?step=consent&check=1")
    assert "<b>Button 1, Address of the page: </b><span>Fill this in.</span>" in page
    for address, told in (("https://www.example.com/privacy", True), (PRIVACY, False)):
        page = await admin.fill(f"/bots/{greeter}/steps/consent", **{"links/0/url": address})
        assert ("Enter the address of your own privacy page." in page) is told
    other = await changes.create(workspace, "Another")
    await drafts.replace(workspace, other, library.BLANK)
    await admin.fill(f"/bots/{other}/steps/welcome", next="new:consent")
    assert (await draft_of(workspace, other))["nodes"][1]["links"][0]["url"] == PRIVACY
    await admin.fill("/bots", name="Demo", flow="demo-booking")
    [made] = [one.id for one in await reads.listed(workspace) if one.name == "Demo"]
    assert f'url = "{PRIVACY}"' in (await reads.detail(workspace, made)).draft


async def test_what_has_a_list_is_chosen_from_it(admin, workspace, greeter):
    draft = read(library.text("lead-qualification").replace('locale = "en"', 'locale = "en-GB"'))
    asked = next(one for one in draft["nodes"] if one.get("options"))
    values = [one.get("value", one["label"]) for one in asked["options"]]
    await drafts.replace(workspace, greeter, written(draft))
    await admin.fill(f"/bots/{greeter}/steps", kind="branch", after=asked["id"], way="next")
    at = "cases/0/when/all/0"
    for op, listed in (("eq", True), ("ne", True), ("contains", False), ("in", False)):
        form = {f"{at}/var": variables.name(asked), f"{at}/op": op, f"{at}/value": values[0]}
        page = await admin.fill(f"/bots/{greeter}/steps/decision", **form)
        shown = page.partition(f'<select name="{at}/value">')[2].partition("</select>")[0]
        assert re.findall(r'<option value="([^"]*)"', shown) == (values if listed else []), op
        assert f'<option value="{values[0]}" selected>' in shown or not listed
    page = await admin.open(f"/bots/{greeter}")
    assert '<option value="en-GB">en-GB</option><option value="en">English</option>' in page
    assert '<option value="UTC" selected>' in page
    assert '<option value="Europe/Berlin">' in page
    assert 'name="title"' not in page, "the heading is on the screen Look"


def test_what_one_kind_of_answer_has_is_not_asked_of_another():
    """Every question offered four fields that its kind of answer refuses. One that is set is shown, to be emptied."""
    ask = fields.of("ask")
    limits = {"options", "min", "max", "earliest", "latest"}
    has = {"text": {"options"}, "email": set(), "number": {"min", "max"}, "date": {"earliest", "latest"}}
    for answer, own in has.items():
        for step in ({"input": answer}, {"input": answer, "min": 3}):
            at_once, more = step_labels.parts(ask, step, "ask")
            assert {field.name for field in (*at_once, *more)} & limits == own | (step.keys() & limits)


async def test_a_step_from_the_list_is_put_after_the_last_one_that_leads_nowhere_yet(admin, workspace, greeter):
    for kind in ("ask", "branch", "say", "end", "end", "end"):
        await admin.fill(f"/bots/{greeter}/steps", kind=kind)
    nodes = {one["id"]: one for one in (await draft_of(workspace, greeter))["nodes"]}
    assert nodes["welcome"]["next"] == "question"
    assert nodes["question"]["next"] == "decision"
    assert (nodes["decision"]["cases"][0]["next"], nodes["decision"]["otherwise"]) == ("message", "end-2")
    assert nodes["message"]["next"] == "end"
    assert len(nodes) == 7, "the last one is after none: none is open"

"""The look of a bot's chat on the screen, and the trial chat's side of the web area."""

import pytest
from msgspec import structs

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes, reads
from leadwire.domain.bots.flow import library
from leadwire.domain.bots.look import Look
from leadwire.infrastructure import db

FORM = {
    "theme": "dark", "side": "left", "x": "24", "y": "90", "icon": "question", "launcher": "Questions?", "avatar": "LW",
    "title": "Ask us", "placeholder": "Your question", "language": "browser", "greeting": "Hello!",
    "greeting_after": "3", "greeting_pages": "/pricing*\n\n /plans ", "opens": "1", "open_after": "8",
    "open_pages": "", "hide_pages": "/checkout*", "color": "#D9F99D", "boxes": "rating opens open_on_phones",
}  # fmt: skip


@pytest.fixture
async def greeter(workspace):
    bot_id = await changes.create(workspace, "Greeter")
    await changes.save_draft(workspace, bot_id, library.text("lead-qualification"))
    return bot_id


async def tried(browser, bot, **form):
    """A turn of the trial chat."""
    data = {"form_token": browser.token, **form}
    return await browser.post(f"/bots/{bot}/trial", data=data, headers={"Accept": "application/json"})


async def test_a_look_is_saved_and_shown_again(admin, workspace, greeter):
    page = await admin.open(f"/bots/{greeter}/look")
    assert f'src="/bots/{greeter}/trial"' in page
    page = await admin.fill(f"/bots/{greeter}/look", **FORM)
    assert 'value="Questions?"' in page
    assert await reads.look(workspace, greeter) == Look(
        theme="dark", side="left", x=24, y=90, icon="question", launcher="Questions?", avatar="LW", title="Ask us",
        placeholder="Your question", language="browser", greeting="Hello!", greeting_after=3,
        greeting_pages=("/pricing*", "/plans"), opens=True, open_after=8, hide_pages=("/checkout*",), rating=False,
    )  # fmt: skip
    assert (await reads.detail(workspace, greeter)).color == "#d9f99d"
    entry = await db.row("SELECT action, subject, detail FROM audit_entry ORDER BY id DESC LIMIT 1")
    assert (entry["action"], entry["subject"]) == ("bot.look_changed", greeter)
    assert "hide_pages" in entry["detail"]


async def test_a_form_from_before_an_upgrade_leaves_what_it_lacks(admin, workspace, greeter):
    await admin.open(f"/bots/{greeter}/look")
    await admin.fill(f"/bots/{greeter}/look", **FORM)
    before = await reads.look(workspace, greeter)
    await admin.fill(f"/bots/{greeter}/look", color="#D9F99D", title="Write to us", greeting="", boxes="rating")
    after = structs.replace(before, title="Write to us", greeting="", rating=False)
    assert await reads.look(workspace, greeter) == after


async def test_what_is_wrong_is_told_at_its_field_and_what_was_typed_stays(admin, workspace, greeter):
    await admin.open(f"/bots/{greeter}/look")
    wrong = FORM | {"x": "900", "avatar": "javascript:alert(1)", "hide_pages": "no path", "title": "<b>Hi</b>"}
    page = await admin.fill(f"/bots/{greeter}/look", 422, **wrong)
    for name in ("x", "avatar", "hide_pages"):
        assert f'id="{name}-fault"' in page
    assert 'value="javascript:alert(1)"' in page
    assert 'value="&lt;b&gt;Hi&lt;/b&gt;"' in page
    assert await reads.look(workspace, greeter) == Look()
    await admin.fill(f"/bots/{greeter}/look", 422, **FORM | {"color": "red"})
    await admin.fill(f"/bots/{greeter}/look", 422, **FORM | {"y": "many"})
    assert await reads.look(workspace, greeter) == Look()


async def test_the_trial_runs_the_draft_and_keeps_nothing(admin, greeter):
    assert f'src="/bots/{greeter}/trial?open=1"' in await admin.open(f"/bots/{greeter}?try=1")
    config = (await admin.get(f"/bots/{greeter}/trial/config")).json()
    assert "What brings you here?" in str(config["messages"])
    form = {"said": ["I want to see prices", "11-50"]}
    told = (await tried(admin, greeter, **form)).json()
    assert [one["content"] for one in told["turn"]["messages"] if one["role"] == "user"] == form["said"]
    assert (told["turn"]["input"]["field"], told["at"]) == ("email", "email")
    assert "Saves goal: pricing" in told["notes"]
    assert any(note.startswith("+15 points") for note in told["notes"])
    asked = (await tried(admin, greeter, **form, person="1")).json()
    assert (asked["turn"]["status"], asked["at"]) == ("handoff", None)
    for table in ("conversation", "message", "lead", "event", "outbox"):
        assert await db.value(f"SELECT count(*) FROM {table}") == 0


async def test_the_trial_wears_what_the_form_says(admin, workspace, greeter):
    address = f"/bots/{greeter}/trial/config"
    told = await admin.get(f"{address}?side=left&x=5&y=&title=Hi&color=%23112233&rating=1&form=1")
    assert (told.json()["look"], told.json()["title"], told.json()["color"]) == (
        {"side": "left", "x": 5, "title": "Hi"}, "Hi", "#112233",
    )  # fmt: skip
    assert (await admin.get(f"{address}?x=9999")).status_code == 422
    assert await reads.look(workspace, greeter) == Look()


async def test_a_draft_that_is_not_complete_says_so(admin, workspace, greeter):
    whole = library.text("lead-qualification")
    await db.rows("UPDATE bot SET draft = $2 WHERE id = $1", greeter, whole.replace('next = "goal"', 'next = "gone"'))
    assert "cannot be tried yet" in await admin.open(f"/bots/{greeter}?try=1")
    told = await tried(admin, greeter, said="hello")
    assert (told.status_code, told.json()["code"]) == (422, "bad_flow")
    assert "gone" in told.json()["detail"]
    await db.rows("UPDATE bot SET draft = 'nonsense' WHERE id = $1", greeter)
    assert "cannot be tried yet" in await admin.open(f"/bots/{greeter}?try=1")
    await db.rows("UPDATE bot SET draft = NULL WHERE id = $1", greeter)
    assert "Try it</a>" not in await admin.open(f"/bots/{greeter}")
    assert (await admin.get(f"/bots/{greeter}/trial/config")).status_code == 200  # for the look, there is something


async def test_only_the_trials_own_page_may_be_framed_and_only_by_ours(admin, greeter):
    for path, allowed in (("/trial", "'self'"), ("/look", "'none'"), ("?try=1", "'none'")):
        policy = (await admin.get(f"/bots/{greeter}{path}")).headers["content-security-policy"]
        assert f"frame-ancestors {allowed};" in policy
        assert "unsafe" not in policy
    assert (await admin.get(f"/bots/{greeter}/trial")).headers["x-frame-options"] == "SAMEORIGIN"


async def test_a_viewer_may_try_and_another_workspace_may_not(viewer, greeter):
    await viewer.open(f"/bots/{greeter}/look")
    assert "primary" not in await viewer.open(f"/bots/{greeter}?try=1")
    assert (await tried(viewer, greeter, said="hello")).status_code == 200
    assert (await viewer.post(f"/bots/{greeter}/look", data=FORM | {"form_token": viewer.token})).status_code == 403
    assert (await viewer.post(f"/bots/{greeter}/trial", data={"said": "hello"})).status_code == 403  # no form of ours
    theirs = await changes.create(await accounts.create_workspace("Other"), "Theirs")
    for part in ("/look", "?try=1", "/trial", "/trial/config"):
        await viewer.open(f"/bots/{theirs}{part}", 404)
    assert (await tried(viewer, theirs, said="hello")).status_code == 404

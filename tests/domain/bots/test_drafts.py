"""Drafts that several people edit: each change can be taken back, and none is lost without a word."""

import asyncio

import pytest

from leadwire.domain.bots import changes, reads
from leadwire.domain.bots.builder import editing
from leadwire.domain.bots.changes import drafts
from leadwire.domain.bots.flow import library
from leadwire.domain.bots.flow.parse import BadFlow, read
from leadwire.domain.bots.look import Look
from leadwire.infrastructure import db, preconditions
from leadwire.infrastructure.errors import Conflict, NotFound

ADA, GRACE = "user_ada", "user_grace"


@pytest.fixture
async def blank(workspace):
    bot = await changes.create(workspace, "Blank")
    await drafts.replace(workspace, bot, library.BLANK, ADA)
    return bot


def says(text, step="welcome"):
    return lambda draft: editing.change(draft, step, {"text": text})[0]


async def text_of(workspace, bot):
    return editing.step(read((await reads.detail(workspace, bot)).draft), "welcome")["text"]


async def seen(workspace, bot):
    return "welcome", preconditions.digest(editing.step(read((await reads.detail(workspace, bot)).draft), "welcome"))


async def test_changes_are_taken_back_and_brought_back(workspace, blank):
    for text in ("One", "Two", "Three"):
        await drafts.edit(workspace, blank, ADA, says(text))
    for expected in ("Two", "One"):
        await drafts.undo(workspace, blank, GRACE)
        assert await text_of(workspace, blank) == expected
    await drafts.undo(workspace, blank, ADA, redo=True)
    assert await text_of(workspace, blank) == "Two"
    await drafts.edit(workspace, blank, ADA, says("Four"))
    with pytest.raises(Conflict, match="nothing to redo"):
        await drafts.undo(workspace, blank, ADA, redo=True)
    for _ in range(3):
        await drafts.undo(workspace, blank, ADA)
    assert (await reads.detail(workspace, blank)).draft == library.BLANK
    with pytest.raises(Conflict, match="nothing to undo"):
        await drafts.undo(workspace, blank, ADA)
    assert (await reads.detail(workspace, blank)).draft == library.BLANK


async def test_so_many_changes_are_kept_and_fewer_of_a_large_flow(workspace, blank):
    for number in range(drafts.KEPT + 5):
        await drafts.edit(workspace, blank, ADA, says(f"No. {number}"))
    assert (await reads.history(workspace, blank)).undo == drafts.KEPT
    for number in range(12):
        await drafts.replace(workspace, blank, library.BLANK + f"# {number}\n" + "#" * 200_000, ADA)
    assert (await reads.history(workspace, blank)).undo == 9
    await drafts.undo(workspace, blank, ADA)
    assert "# 10\n" in (await reads.detail(workspace, blank)).draft


async def test_a_step_that_another_has_changed_is_not_overwritten(workspace, blank):
    first = await seen(workspace, blank)
    await drafts.edit(workspace, blank, GRACE, says("Grace"), first, "tab-1")
    with pytest.raises(Conflict, match="This step has changed meanwhile"):
        await drafts.edit(workspace, blank, ADA, says("Ada"), first)
    assert await text_of(workspace, blank) == "Grace"
    with pytest.raises(Conflict, match="This step has changed meanwhile"):
        await drafts.edit(workspace, blank, GRACE, says("Another tab"), first, "tab-2")
    await drafts.edit(workspace, blank, GRACE, says("Grace again"), first, "tab-1")  # what this tab did is no conflict
    await drafts.edit(workspace, blank, ADA, says("Ada"), await seen(workspace, blank))
    assert await text_of(workspace, blank) == "Ada"


async def test_what_another_has_undone_is_not_overwritten(workspace, blank):
    await drafts.edit(workspace, blank, ADA, says("Ada"), await seen(workspace, blank), "tab-1")
    mine = await seen(workspace, blank)
    await drafts.undo(workspace, blank, GRACE)
    with pytest.raises(Conflict, match="This step has changed meanwhile"):
        await drafts.edit(workspace, blank, ADA, says("Ada again"), mine, "tab-1")
    await drafts.edit(workspace, blank, ADA, says("Ada again"), await seen(workspace, blank), "tab-1")


async def test_two_steps_are_edited_at_once(workspace, blank):
    await drafts.edit(workspace, blank, ADA, lambda draft: editing.add(draft, "end", "welcome", "next")[0])
    place = await seen(workspace, blank)
    many = [drafts.edit(workspace, blank, GRACE, says(f"Bye {n}", "end")) for n in range(5)]
    await asyncio.gather(*many, drafts.edit(workspace, blank, ADA, says("Hi"), place))
    assert await text_of(workspace, blank) == "Hi"
    assert (await reads.detail(workspace, blank)).draft_revision == 8


async def test_a_whole_text_is_not_saved_over_another_change(workspace, blank):
    revision = await reads.revision(workspace, blank)
    await drafts.edit(workspace, blank, GRACE, says("Grace"))
    for user in (ADA, GRACE):  # she did it in another tab
        with pytest.raises(Conflict, match="The draft has changed since you opened it"):
            await drafts.replace(workspace, blank, library.BLANK + "# mine\n", user, revision)
    await drafts.replace(workspace, blank, library.BLANK, ADA, await reads.revision(workspace, blank))


async def test_a_draft_may_be_incomplete_but_not_unreadable(workspace, blank):
    for text in ("nodes = [", "{", "x" * 300_000):
        with pytest.raises(BadFlow):
            await drafts.replace(workspace, blank, text, ADA)
    with pytest.raises(BadFlow, match="'next' is missing"):
        await changes.publish(workspace, blank)
    assert (await reads.detail(workspace, blank)).published_version is None


async def test_another_workspace_has_no_such_draft(workspace, blank):
    for refused in (
        drafts.edit("ws_other", blank, ADA, says("x")),
        drafts.undo("ws_other", blank, ADA),
        drafts.replace("ws_other", blank, "a = 1", ADA),
        changes.describe("ws_other", blank, "Mine", ""),
        changes.duplicate("ws_other", blank, "Mine"),
        reads.history("ws_other", blank),
        reads.revision("ws_other", blank),
    ):
        with pytest.raises(NotFound):
            await refused


async def test_a_copy_has_all_but_the_websites(workspace, blank):
    await changes.describe(workspace, blank, "Greeter", "For the shop")
    await changes.set_origins(workspace, blank, ["*"])
    await changes.set_look(workspace, blank, Look(), "#0f766e")
    await changes.add_faq_entry(workspace, blank, "Why?", "Because.")
    copy = await changes.duplicate(workspace, blank, "Copy of Greeter")
    one = await reads.detail(workspace, copy)
    assert (one.name, one.description, one.draft, one.color) == (
        "Copy of Greeter", "For the shop", library.BLANK, "#0f766e",
    )  # fmt: skip
    assert (one.allowed_origins, one.published_version) == ([], None)
    assert [entry.question for entry in await reads.faq(workspace, copy)] == ["Why?"]
    assert await db.value("SELECT count(*) FROM bot") == 2

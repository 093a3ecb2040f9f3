"""Pages with large content: the work for them is bounded and does not block the event loop."""

import asyncio
import threading

import pytest

from leadwire.domain.bots import changes, reads
from leadwire.domain.bots.flow import library
from leadwire.domain.bots.visitors import runtime
from leadwire.infrastructure import apart, cpu_work, db
from leadwire.interfaces.web import rendering
from leadwire.interfaces.web.screens import bots as screen
from tests import jobs
from tests.domain.bots.conftest import Visitor, published

FLOW = library.text("lead-qualification")


@pytest.fixture
async def greeter(workspace):
    """A bot with five versions, each of 120 kB."""
    bot_id = await changes.create(workspace, "Greeter")
    for version in range(5):
        await changes.save_draft(workspace, bot_id, FLOW + f"# {version}\n" + "#\n" * 60_000)
        await changes.publish(workspace, bot_id)
    return bot_id


def watched(monkeypatch, owner, name):
    """The threads that a function is called in, as they come."""
    threads, real = [], getattr(owner, name)

    def call(*arguments):
        threads.append(threading.current_thread())
        return real(*arguments)

    monkeypatch.setattr(owner, name, call)
    return threads


@pytest.fixture
def apart_works(monkeypatch):
    """The names of what is done in the process for large texts, as it is done."""
    names, real = [], apart.call

    def call(work, *arguments):
        names.append(work.__name__)
        assert threading.current_thread() is not threading.main_thread()
        return real(work, *arguments)

    monkeypatch.setattr(apart, "call", call)
    return names


async def test_one_pair_of_versions_is_compared_apart(viewer, greeter, apart_works):
    apart_works.clear()
    page = await viewer.open(f"/bots/{greeter}/versions")
    assert page.count("Show what it changed") == 4
    assert apart_works == ["of_texts"]
    page = await viewer.open(f"/bots/{greeter}/versions?version=1")
    assert "more lines are not shown" in page
    assert len(page) < 200_000
    assert apart_works == ["of_texts", "of_texts"]


async def test_a_draft_is_parsed_apart(admin, greeter, apart_works):
    apart_works.clear()
    page = await admin.open(f"/bots/{greeter}/text")
    assert "Visitors see this" in page
    await admin.fill(f"/bots/{greeter}/draft", source=FLOW + "#\n" * 60_000, publish="1")
    assert apart_works == ["checked", "parse", "checked"]
    apart_works.clear()
    await admin.open(f"/bots/{greeter}")
    await admin.fill(f"/bots/{greeter}/steps", kind="end")
    assert apart_works == ["checked", "picture", "read", "rewritten", "checked", "picture"]


async def test_what_takes_too_long_to_read_is_told(admin, workspace, monkeypatch):
    bot = (await published(workspace, FLOW)).id
    await admin.open(f"/bots/{bot}")
    tables = FLOW + "".join(f"[a.b.c.d.e.f.g.h{number}]\n" for number in range(9_000))
    await admin.fill(f"/bots/{bot}/draft", source=tables)
    monkeypatch.setattr(apart, "LIMIT", 1e-6)
    assert "This text takes too long to read." in await admin.fill(f"/bots/{bot}/steps", 422, kind="end")


async def test_a_published_flow_is_read_apart(viewer, greeter, apart_works):
    apart_works.clear()
    await viewer.get(f"/bots/{greeter}/trial/config")
    assert apart_works == ["parse_stored"]


async def test_a_short_draft_is_parsed_in_a_thread(admin, workspace, monkeypatch):
    bot = (await published(workspace, FLOW)).id
    threads = watched(monkeypatch, screen, "checked")
    await admin.open(f"/bots/{bot}/text")
    assert threads
    assert threading.main_thread() not in threads


async def test_a_page_is_rendered_in_a_thread(viewer, monkeypatch):
    threads = watched(monkeypatch, rendering, "render")
    await viewer.open("/leads")
    assert threads
    assert threading.main_thread() not in threads


async def test_the_list_of_bots_reads_no_flow(viewer, greeter, monkeypatch):
    details = watched(monkeypatch, reads, "detail")
    assert "Greeter" in await viewer.open("/bots")
    assert details == []


@pytest.mark.parametrize(
    "text",
    [
        "[1," * 600 + "1" + "]" * 600,
        "[" * 900 + "]" * 900,
        '{"a":' * 340 + "1" + "}" * 340,
        "[" + "1," * 30_000 + "1]",
        "[" * 60_000,
    ],
)
def test_a_nested_or_large_answer_stays_as_it_is(text):
    assert str(rendering.pretty(text)).replace("&#34;", '"') == text


def test_brackets_in_a_text_are_no_nesting():
    assert '<i class="str">' in rendering.pretty('{"a": "' + "[" * 100 + '"}')


def test_what_is_indented_and_colored_is_at_most_some_times_as_long():
    largest = "[" + "1," * 4000 + "1]"
    assert len(rendering.pretty(largest)) < 15 * len(largest)


async def saves(admin, bot):
    await admin.fill(f"/bots/{bot}/draft", source=FLOW + "# another\n")


async def saves_and_publishes(admin, bot):
    await admin.fill(f"/bots/{bot}/draft", source=FLOW + "# another\n", publish="1")


async def publishes(admin, bot):
    await saves(admin, bot)
    await admin.fill(f"/bots/{bot}/publish")


async def creates(admin, _):
    await admin.fill("/bots", name="Another", flow="blank")


async def duplicates(admin, bot):
    await admin.fill(f"/bots/{bot}/duplicate")


async def rolls_back(admin, bot):
    await admin.fill(f"/bots/{bot}/rollback", version=1)


async def edits(admin, bot):
    await admin.fill(f"/bots/{bot}/steps", kind="end")


async def gives_back(admin, bot):
    visitor = Visitor(await reads.live(bot))
    await visitor.says("Hello")
    await runtime.hand_off(await visitor.visit())
    reads._flows.clear()
    await admin.fill(f"/inbox/{visitor.conversation}/give-back")


async def falls_silent(admin, bot):
    visitor = Visitor(await reads.live(bot))
    await visitor.says("Hello")
    await db.rows("UPDATE conversation SET updated_at = now() - interval '6 minutes'")
    await db.rows("UPDATE visit SET nudge_minutes = 5, inactivity_minutes = 10")
    reads._flows.clear()
    await jobs.run("silence")
    assert await db.value("SELECT nudged_at IS NOT NULL FROM visit")


@pytest.mark.parametrize(
    "act",
    [saves, saves_and_publishes, publishes, creates, duplicates, rolls_back, edits, gives_back, falls_silent],
)
async def test_no_transaction_is_open_meanwhile(admin, workspace, act, monkeypatch):
    """A transaction that waits for a turn behind others' flows is ended by PostgreSQL, or holds its locks for long."""
    bot, places, real = (await published(workspace, FLOW)).id, [], cpu_work.run
    await admin.open("/bots")
    reads._flows.clear()

    async def run(*work, **options):
        places.append(db.in_transaction())
        return await real(*work, **options)

    monkeypatch.setattr(cpu_work, "run", run)
    await act(admin, bot)
    assert True not in places


async def test_work_inside_a_transaction_is_refused(database):
    with pytest.raises(RuntimeError):
        async with db.transaction():
            await cpu_work.run(int)


async def test_workspaces_take_turns(database):
    begun, goes_on, order = threading.Event(), threading.Event(), []

    def work(name):
        order.append(name)
        begun.set()
        goes_on.wait(120)

    def task(name):
        db.workspace.set(name)
        return asyncio.create_task(cpu_work.run(work, name))

    async with asyncio.timeout(120):
        before = db.workspace.get()
        tasks = [task(name) for name in ("a", "a", "a", "b", "a")]
        db.workspace.set(before)
        await asyncio.to_thread(begun.wait)
        goes_on.set()
        await asyncio.gather(*tasks)
    assert order == ["a", "b", "a", "a", "a"]


async def test_what_is_nested_too_deeply_is_told_and_not_parsed(admin, workspace):
    bot = (await published(workspace, FLOW)).id
    await admin.open(f"/bots/{bot}/text")
    digits = "a = " + "1" * 5_000  # Python reads no number that long
    assert "The text cannot be read." in await admin.fill(f"/bots/{bot}/draft", 422, source=digits)
    deep = "a." * 20_000 + "a = 1"
    assert "A key has at most 8 parts." in await admin.fill(f"/bots/{bot}/draft", 422, source=deep)
    assert "A key has at most 8 parts." in await admin.fill(f"/bots/{bot}/draft", 422, source=deep, publish="1")

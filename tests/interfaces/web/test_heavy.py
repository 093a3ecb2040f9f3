"""Pages with large content: the work for them is bounded and does not block the event loop."""

import threading

import pytest

from leadwire.domain.bots import changes, reads
from leadwire.domain.bots.builder import text_diff
from leadwire.domain.bots.changes import drafts
from leadwire.domain.bots.flow import library, parse
from leadwire.interfaces.web import rendering
from leadwire.interfaces.web.screens import bot_text as screen

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


async def test_one_pair_of_versions_is_compared_in_a_thread(viewer, greeter, monkeypatch):
    threads = watched(monkeypatch, text_diff, "compare")
    page = await viewer.open(f"/bots/{greeter}/versions")
    assert page.count("Show what it changed") == 4
    assert len(threads) == 1
    assert threads[0] is not threading.main_thread()
    page = await viewer.open(f"/bots/{greeter}/versions?version=1")
    assert "more lines are not shown" in page
    assert len(page) < 200_000
    assert len(threads) == 2


async def test_a_draft_is_parsed_in_a_thread(admin, greeter, monkeypatch):
    watches = [(screen, "examined"), (drafts, "read"), (changes, "parse")]
    threads = [watched(monkeypatch, owner, name) for owner, name in watches]
    page = await admin.open(f"/bots/{greeter}/text")
    assert "Visitors see this" in page
    await admin.fill(f"/bots/{greeter}/draft", source=FLOW, publish="1")
    assert [len(found) for found in threads] == [2, 2, 1]  # two pages; the draft and the one before; its publication
    assert threading.main_thread() not in [one for found in threads for one in found]


async def test_a_published_flow_is_read_in_a_thread(viewer, greeter, monkeypatch):
    threads = watched(monkeypatch, parse, "_examined")
    await viewer.open(f"/bots/{greeter}/preview")
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

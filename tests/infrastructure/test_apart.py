"""Work on a long text: in a process that can be ended, as if it were done here."""

import asyncio
import os
import re
import signal
import threading

import pytest

from leadwire.domain.bots.flow import library
from leadwire.domain.bots.flow.parse import BadFlow, parse
from leadwire.infrastructure import apart, cpu_work, db

LONG = "#\n" * cpu_work.LARGE


async def test_what_never_ends_is_ended_and_the_next_is_done(monkeypatch):
    monkeypatch.setattr(apart, "LIMIT", 0.1)
    with pytest.raises(apart.TooHeavy):
        await cpu_work.of_text(LONG, re.match, "(a+)+$", "a" * 60 + "b")
    monkeypatch.undo()
    assert await cpu_work.of_text(LONG, len, LONG) == len(LONG)
    assert await cpu_work.of_text(LONG, os.getpid) != os.getpid()


async def test_what_takes_long_there_holds_up_nothing_here(monkeypatch):
    """Nor does a second workspace's, which waits for the process."""
    begun, over = threading.Event(), threading.Event()
    monkeypatch.setattr(apart, "call", lambda *_: (begun.set(), over.wait(240)))
    large = [asyncio.create_task(_in(workspace, cpu_work.of_text(LONG, len))) for workspace in "ab"]
    try:
        assert await asyncio.to_thread(begun.wait, 240)
        assert await asyncio.wait_for(asyncio.create_task(_in("c", cpu_work.of_text("a", len, "a"))), 240) == 1
        assert not any(one.done() for one in large)
    finally:
        over.set()
        await asyncio.gather(*large)


async def _in(workspace, work):
    db.workspace.set(workspace)
    return await work


async def test_a_short_text_is_read_here():
    assert await cpu_work.of_text("a", os.getpid) == os.getpid()


@pytest.mark.parametrize("name", ["LEADWIRE_DATABASE_URL", "LEADWIRE_SECRET_KEY"])
async def test_it_has_no_secrets(monkeypatch, name):
    monkeypatch.setenv(name, "secret")
    apart.end()
    assert await cpu_work.of_text(LONG, os.getenv, name) is None


async def test_a_flow_and_its_faults_are_the_same():
    text = library.text("lead-qualification")
    assert await cpu_work.of_text(LONG, parse, text) == parse(text)
    raised = []
    for where in ("", LONG):
        with pytest.raises(BadFlow) as found:
            await cpu_work.of_text(where, parse, text.replace('next = "', 'next = "no-'))
        raised.append((str(found.value), found.value.errors, found.value.flaws, found.value.code))
    assert raised[0] == raised[1]
    assert raised[0][2]


async def test_one_that_was_killed_meanwhile_costs_one_answer():
    process = await cpu_work.of_text(LONG, os.getpid)
    os.kill(process, signal.SIGKILL)
    with pytest.raises(apart.TooHeavy):
        await cpu_work.of_text(LONG, len, LONG)
    assert await cpu_work.of_text(LONG, len, LONG) == len(LONG)

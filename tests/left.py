"""What a test leaves behind for those that run after it in the same process: nothing."""

import asyncio
import io
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import leadwire
from leadwire.infrastructure import redis_pool
from leadwire.infrastructure.db.engine import Engine

_SOURCE = str(Path(leadwire.__file__).parent)
_OURS = tuple(f"{_SOURCE}/{package}/" for package in ("delivery", "processes", "infrastructure/jobs"))


def shared() -> dict[str, Any]:
    """What all tests of a process share, beside its servers."""
    root = logging.getLogger()
    return {
        "the directory": Path.cwd(),
        "the environment": {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"},
        "the level of the log": root.level,
        "what is logged by httpx": logging.getLogger("httpx").level,
    }


def loops() -> set[asyncio.Task[Any]]:
    """The tasks of relays, workers and background processes that run here."""
    return {task for task in asyncio.all_tasks() if _file(task).startswith(_OURS)}


async def end(tasks: set[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def written() -> None:
    """Wait until what requests have left to be written has been: it is not written amid the next test."""
    if tasks := {*redis_pool._background_tasks}:
        await asyncio.wait(tasks, timeout=60)


_POOL: dict[str, Any] = {}


async def ended(engine: Engine) -> None:
    """End a test that its time limit has stopped amid a wait, and give the engine back the pool that it had before.

    Such a test is still a task of the loop, and its blocks have not ended: without this all that follow fail.
    """
    others = asyncio.all_tasks() - {asyncio.current_task()}
    stopped = {task for task in others if getattr(task.get_coro(), "__name__", "").startswith("test_")}
    for task in stopped:
        task.cancel()
    if stopped:
        await asyncio.wait(stopped, timeout=60)
        for name, value in _POOL.items():
            setattr(engine, name, value)
    else:
        _POOL.update({name: getattr(engine, name) for name in ("pool", "connections", "config", "role")})


def waits(loop: asyncio.AbstractEventLoop) -> str:
    """Where each task of the loop waits."""
    told = io.StringIO()
    for task in asyncio.all_tasks(loop):
        task.print_stack(file=told)
    return told.getvalue()


def _file(task: asyncio.Task[Any]) -> str:
    return str(getattr(getattr(task.get_coro(), "cr_code", None), "co_filename", ""))


def unchanged() -> Iterator[None]:
    """Raise AssertionError when what is shared is not as it was, and put back what can be."""
    before = shared()
    yield
    after = shared()
    os.chdir(before["the directory"])
    logging.getLogger().setLevel(before["the level of the log"])
    logging.getLogger("httpx").setLevel(before["what is logged by httpx"])
    changed = [name for name, value in before.items() if after[name] != value]
    assert not changed, f"the test has changed {', '.join(changed)} for all that follow"

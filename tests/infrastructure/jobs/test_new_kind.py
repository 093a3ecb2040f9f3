"""A new kind of job is one file: it is found, run, and shown where it fails."""

import importlib
import sys
from collections.abc import Collection

import pytest

from leadwire.infrastructure.jobs import Offer, kinds, queue, reads
from leadwire.infrastructure.jobs.runner import Runner
from leadwire.processes.background import find_kinds

JOBS = """
from leadwire.infrastructure.jobs import chore, job

greeted, swept = [], []

@job("greeting")
async def greet(job):
    if job.key == "nobody":
        raise KeyError(job.key)
    greeted.append((job.workspace, job.key))

@chore("greeting.delete")
async def delete():
    swept.append(True)
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with another one in it, whose only module is `jobs`."""
    inside = tmp_path / "a_new_package" / "greetings"
    inside.mkdir(parents=True)
    (inside.parent / "__init__.py").touch()
    (inside / "__init__.py").touch()
    (inside / "jobs.py").write_text(JOBS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(kinds, "KINDS", {})
    yield importlib.import_module("a_new_package")
    for name in [name for name in sys.modules if name.startswith("a_new_package")]:
        del sys.modules[name]


async def nobody(_: Collection[str]) -> Collection[str]:
    return ()


@pytest.mark.usefixtures("database")
async def test_a_kind_is_one_file(package):
    find_kinds([package])
    await queue.add_all("greeting", [Offer("ann", "ws_a"), Offer("nobody", "ws_b")])
    await Runner(nobody, kinds.KINDS).run_all()
    module = sys.modules["a_new_package.greetings.jobs"]
    assert (module.greeted, module.swept) == ([("ws_a", "ann")], [True])
    shown = {one.kind: (one.failing, one.failed, one.oldest) for one in await reads.summaries()}
    assert shown == {"greeting": (1, 0, "nobody"), "greeting.delete": (0, 0, None)}

"""The drills that run in seconds, and that every drill is listed and follows its runbook."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ops.drills.__main__ import DRILLS
from ops.drills.up_faults import FAULTS
from ops.prometheus.rules import ALERTS

from leadwire.infrastructure.settings import read
from tests.flows.commands import environment

ROOT = Path(__file__).parents[2]


def drill(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ops.drills", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=840, check=False
    )


@pytest.mark.flow
@pytest.mark.parametrize("name", ["redis-gone", "worker-wedged", "restore"])
def test_a_drill_ends_well(name: str) -> None:
    done = drill(name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAILED" not in done.stdout
    assert done.stdout.count(" ok  ") >= 3


def test_every_drill_is_listed_with_what_happens_in_it_and_runs_with_settings_that_exist() -> None:
    listed = drill("--list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(DRILLS)
    assert all(len(line.split()) > 5 for line in listed)
    for name in DRILLS:
        chosen = importlib.import_module(f"ops.drills.{name.replace('-', '_')}").SETTINGS
        read({f"LEADWIRE_{setting}": value for setting, value in chosen.items()})


@pytest.mark.parametrize("name", DRILLS)
def test_a_drill_types_what_its_runbook_tells_to(name: str) -> None:
    played = importlib.import_module(f"ops.drills.{name.replace('-', '_')}")
    path, _, part = played.RUNBOOK.partition("#")
    book = (ROOT / path).read_text()
    if part:
        assert f"## {part.replace('-', ' ')}" in book.lower()
    on_call = (ROOT / "src/leadwire/docs/on-call.md").read_text()
    book += on_call.partition("## Look first")[2].partition("\n## ")[0]  # what comes before every runbook
    typed = re.findall(r'sandbox\.command\("([a-z-]+)"(?:, "([a-z]+)")?', Path(played.__file__).read_text())
    for words in typed:
        assert f"leadwire {' '.join(filter(None, words))}" in book


def test_what_the_page_has_to_say_of_a_fault_is_an_alert_or_that_it_cannot_be_shown() -> None:
    assert {expected for _, expected, _ in FAULTS.values()} - {alert.name for alert in ALERTS} == {"503"}


def test_an_unknown_drill_is_refused() -> None:
    refused = drill("fire")
    assert refused.returncode == 2
    assert "fire" in refused.stderr

"""The cluster on namespaces: every row of the README's table can be run, and the smallest one runs where it can."""

import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from ops.chaos.verdict import judge
from ops.cluster.__main__ import lines
from ops.cluster.faults import kinds
from ops.cluster.network import missing
from ops.cluster.row import Row, untold, without_gone
from ops.cluster.servers import absent
from ops.cluster.topology import TOPOLOGIES

from leadwire.infrastructure import ids
from tests.chaos.test_verdict import CHANGES, CLEAN, EVENTS, POSTS
from tests.flows.commands import environment

ROOT = Path(__file__).parents[2]
ROWS = [(topology, fault) for topology in TOPOLOGIES for fault in kinds(topology)]


def cluster(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ops.cluster", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=840, check=False
    )


def test_every_row_is_listed_and_is_in_the_readme_with_its_command() -> None:
    listed = [tuple(line.split()[:2]) for line in cluster("--list").stdout.splitlines()]
    assert listed == ROWS
    table = re.findall(
        r"^\| (\S+) \| .*`--topologies (\S+) --faults (\S+)`", (ROOT / "ops" / "README.md").read_text(), re.MULTILINE
    )
    assert table == [(topology, topology, fault) for topology, fault in ROWS]


@pytest.mark.parametrize("wrong", [("--topologies", "star"), ("--faults", "earthquake")])
def test_what_does_not_exist_is_refused(wrong: tuple[str, str]) -> None:
    refused = cluster(*wrong, "--list")
    assert refused.returncode == 2
    assert "star" in refused.stderr or "no row has these faults" in refused.stderr


def test_changes_that_a_standby_lacks_are_counted_apart_and_must_be_told_of() -> None:
    seen = msgspec.structs.replace(CLEAN, posts=POSTS, events=EVENTS[:2], states={"lead_a": 2})
    assert "changes_without_event 1" in judge(seen).failures
    kept, gone = without_gone(seen)
    assert judge(kept).failures == []
    assert gone == [CHANGES[2]]
    assert untold([], None) == ""
    assert untold(gone, None) == "1 changes are gone, and the ledger says nothing"
    newest = ids.new("evt")
    assert untold(gone, newest).startswith("1 changes are gone that were accepted before ")
    later = msgspec.structs.replace(CHANGES[2], accepted=ids.moment(newest).timestamp() + 0.1)
    assert untold([later], newest) == ""


def test_the_scorecard_has_a_line_for_each_row_and_says_which_failed() -> None:
    text = lines(
        [
            Row(topology="plain", fault="cut-worker", lasted=8.0, again=0.2, accepted=900),
            Row(topology="plain", fault="cut-redis", failures=["lost 1"]),
        ]
    )
    assert text[1].split()[:6] == ["plain", "cut-worker", "8.0", "s", "0.2", "s"]
    assert text[1].endswith("ok, ledger balanced")
    assert text[2].endswith("FAILED: lost 1")


@pytest.mark.large
@pytest.mark.flow
def test_the_smallest_row_ends_well() -> None:
    if why := missing() or ", ".join(absent(patroni=False, clocks=False)):
        pytest.skip(why)
    short = ("--changes", "90", "--seconds", "3", "--fault-seconds", "3")
    done = cluster("--topologies", "plain", "--faults", "cut-worker", *short)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok, ledger balanced" in done.stdout

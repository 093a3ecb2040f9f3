"""A short run of the chaos harness: every kind of fault once, and nothing is lost."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from ops.chaos.faults import FAULTS

from tests.flows.commands import environment

pytestmark = [pytest.mark.flow, pytest.mark.timeout(240)]

ROOT = Path(__file__).parents[2]


def test_nothing_is_lost_whatever_dies(tmp_path):
    scorecard = tmp_path / "scorecard.json"
    asked = ("--events", "400", "--seconds", "20", "--every", "1.3", "--seed", "7", "--json", str(scorecard))
    result = subprocess.run(
        [sys.executable, "-m", "ops.chaos", *asked],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=220,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    card = json.loads(scorecard.read_bytes())
    assert set(card["faults"]) == set(FAULTS)
    assert (card["accepted"], card["events"], card["owed"]) == (400, 400, 1600)
    assert card["posts"] > 1600  # the flaky endpoint made it try again
    assert card["lost"] == card["unexplained"] == card["misordered"] == card["misnumbered"] == 0

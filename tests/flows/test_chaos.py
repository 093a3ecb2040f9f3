"""A short run of the chaos harness: every kind of fault once, every act of customers, and nothing is lost."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from ops.chaos.acts import ACTS
from ops.chaos.calm import CHANGES
from ops.chaos.faults import FAULTS

from tests.flows.commands import environment

pytestmark = pytest.mark.flow

ROOT = Path(__file__).parents[2]


def test_nothing_is_lost_whatever_dies(tmp_path):
    scorecard = tmp_path / "scorecard.json"
    asked = ("--events", "400", "--seconds", "30", "--every", "1.2", "--act-every", "2", "--seed", "7")
    result = subprocess.run(
        [sys.executable, "-m", "ops.chaos", *asked, "--json", str(scorecard)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=840,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    cards = json.loads(scorecard.read_bytes())
    assert set(cards) == {"chaos", "beside", "relayed"}
    card = cards["chaos"]
    assert set(card["faults"]) == set(FAULTS)
    assert set(card["acts"]) >= ACTS.keys()
    assert (card["accepted"], card["events"]) == (400 + CHANGES, 400 + CHANGES)
    assert card["posts"] > card["owed"]  # the flaky endpoint made it try again, and replays sent it again

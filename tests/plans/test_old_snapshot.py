"""A transaction that somebody else holds open, such as a dump, makes no delivery cost more pages."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_deliveries_cost_the_same_beside_an_old_snapshot():
    command = [sys.executable, "-m", "ops.bench.old_snapshot", "--deliveries", "800", "--windows", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]

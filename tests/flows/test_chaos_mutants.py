"""The chaos harness sees what it is there for: an engine that breaks a promise, however quietly, is found out."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flows.commands import environment

pytestmark = [pytest.mark.flow, pytest.mark.large]

ROOT = Path(__file__).parents[2]

RETRY_AT_ONCE = """
_after = after


def after(*values, **options):
    return _after(*values, **options)._replace(delay=0.0)
"""
RECONCILE_EVERYTHING = """
from leadwire.infrastructure.db.statements import sql

_EVERYTHING = sql(
    "UPDATE delivery SET queued_at = now() WHERE state = 'queued' RETURNING event_id, endpoint_id, attempts")


async def reconcile(*_):
    return [Key(*row) for row in await _EVERYTHING.rows()]
"""


@pytest.mark.parametrize(
    ("module", "changed", "broken"),
    [
        ("delivery/retry.py", RETRY_AT_ONCE, "chaos: early "),
        ("delivery/relay/reconcile.py", RECONCILE_EVERYTHING, "chaos: reconciled "),
        ("delivery/retry.py", "", ""),
    ],
    ids=["a retry at once", "reconcile adds everything", "nothing"],
)
def test_what_the_engine_does_wrong_is_found_without_any_fault(tmp_path, module, changed, broken):
    """The last lines of a module are ours, in a copy of the source."""
    for part in ("src", "migrations"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    mutant = tmp_path / "src" / "leadwire" / module
    mutant.write_text(mutant.read_text() + changed)
    asked = ("--events", "300", "--seconds", "12", "--every", "1000", "--act-every", "0", "--settle", "90")
    result = subprocess.run(
        [sys.executable, "-m", "ops.chaos", *asked],
        cwd=ROOT,
        env=environment() | {"PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        timeout=840,
        check=False,
    )
    verdict = result.stdout.strip().splitlines()[-1]
    assert result.returncode == bool(broken), result.stdout + result.stderr
    assert broken in verdict if broken else verdict == "Every promise was kept.", result.stdout

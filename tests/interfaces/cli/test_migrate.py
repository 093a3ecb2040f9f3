"""`leadwire migrate` tells what it did, on the embedded servers as on any others."""

import subprocess
import sys
from pathlib import Path

import pytest

from leadwire.infrastructure.db.migrations import files
from tests.flows.commands import data_directory, environment, run


@pytest.mark.flow
def test_migrate_says_how_many_it_applied_and_then_that_there_is_nothing_to_do() -> None:
    with data_directory() as directory:
        first, second = (run("migrate", DATA_DIR=str(directory)) for _ in range(2))
    assert first.stdout.rstrip().endswith("migrations applied"), first
    assert second.stdout == "nothing to do\n", second


@pytest.mark.flow
def test_every_migration_can_be_taken_back_by_piccolo_and_applied_again() -> None:
    backwards = ("-m", "piccolo.main", "migrations", "backwards", "leadwire", "--migration_id=all", "--auto_agree")
    with data_directory() as directory:
        settings = {"DATA_DIR": str(directory)}
        run("migrate", **settings)
        subprocess.run(
            [sys.executable, *backwards], cwd=Path(__file__).parents[3], env=environment(**settings), check=True
        )
        again = run("migrate", **settings)
    assert again.stdout.rstrip().endswith(f"{len(files())} migrations applied"), again

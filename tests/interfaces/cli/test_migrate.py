"""`leadwire migrate` tells what it did, on the embedded servers as on any others."""

import pytest

from tests.flows.commands import data_directory, run


@pytest.mark.flow
def test_migrate_says_how_many_it_applied_and_then_that_there_is_nothing_to_do() -> None:
    with data_directory() as directory:
        first, second = (run("migrate", DATA_DIR=str(directory)) for _ in range(2))
    assert first.stdout.rstrip().endswith("migrations applied"), first
    assert second.stdout == "nothing to do\n", second

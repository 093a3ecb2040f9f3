"""Which tests a worker of pytest-xdist begins with."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import conftest


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_each_worker_begins_with_modules_that_start_processes(workers: int) -> None:
    """Else they came last, and were shared out among workers of which each started its own."""
    sizes = {f"test_{name}": count for name, count in zip("abcdefghij", (3, 90, 2, 5, 40, 4, 7, 1, 60, 2), strict=True)}
    flows = {"test_a", "test_c", "test_f", "test_j"}
    items = [
        SimpleNamespace(path=Path(name), get_closest_marker=lambda _, name=name: name in flows)
        for name, count in sizes.items()
        for _ in range(count)
    ]
    before = list(items)
    conftest.pytest_collection_modifyitems(SimpleNamespace(workerinput={"workercount": workers}), items)  # type: ignore[arg-type]
    assert sorted(map(id, items)) == sorted(map(id, before))
    left, begins = items, []
    for number in range(workers):
        size = len(left) // (workers - number)
        begins.append(left[0].path.name)
        left = left[size:]
    assert set(begins) <= flows
    assert len(set(begins)) == workers

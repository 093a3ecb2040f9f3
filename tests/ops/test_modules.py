"""The programs of operations name what exists: they are run seldom, and few of them by tests."""

import importlib
import pkgutil

import pytest

import ops

_MODULES = [found.name for found in pkgutil.walk_packages(ops.__path__, "ops.")]


@pytest.mark.parametrize("name", [name for name in _MODULES if not name.endswith("__main__")])
def test_a_module_of_operations_can_be_imported(name):
    importlib.import_module(name)


def test_they_are_found():
    assert {"ops.bench.injection", "ops.drills.restore", "ops.chaos.load"} <= set(_MODULES)

"""The programs of operations name what exists: they are run seldom, and few of them by tests."""

import importlib
import pkgutil

import ops

_MODULES = [found.name for found in pkgutil.walk_packages(ops.__path__, "ops.")]


def test_a_module_of_operations_can_be_imported():
    assert {"ops.bench.injection", "ops.drills.restore", "ops.chaos.load"} <= set(_MODULES)
    for name in _MODULES:
        if not name.endswith("__main__"):
            importlib.import_module(name)

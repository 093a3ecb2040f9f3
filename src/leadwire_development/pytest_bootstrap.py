"""Loaded by pytest before its options are read (`addopts` in pyproject.toml): adds the packages that only tests need.

`uv run leadwire up` then installs neither a browser's driver nor a fuzzer, and `uv run pytest` needs no other command.
"""

import importlib.util
import os
import sys

# A hundred processes start in the tests, and workers rewrite the same asserts: each would compile all of it again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
if importlib.util.find_spec("xdist") is None:
    os.execvp("uv", ["uv", "run", "--group", "test", "pytest", *sys.argv[1:]])

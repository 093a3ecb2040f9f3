"""Run the tests of this package, and print what became of each member."""

import sys
from pathlib import Path

import pytest

sys.exit(pytest.main([str(Path(__file__).parent), "-q", "-n", "0", *sys.argv[1:]]))

"""What the scheduled run of the newest releases asks for exists."""

import re
import shlex
import tomllib

import yaml

from ops import newest

JOB = yaml.safe_load((newest.ROOT / ".github" / "workflows" / "newest.yml").read_text())["jobs"]["test"]


def test_every_run_is_understood_and_goes_beyond_bounds_that_are_there() -> None:
    project = tomllib.loads((newest.ROOT / "pyproject.toml").read_text())["project"]
    bounded = {re.split(r"[\[<>=]", need)[0] for need in project["dependencies"] if "<" in need}
    assert JOB["steps"][-1]["run"].endswith("python -m ops.newest ${{ matrix.options }}")
    for line in JOB["strategy"]["matrix"]["options"]:
        asked, rest = newest.options().parse_known_args(shlex.split(line))
        assert rest == []
        assert set(asked.beyond) <= bounded


def test_its_tests_are_there() -> None:
    assert all((newest.ROOT / folder).is_dir() for folder in newest.TESTS)

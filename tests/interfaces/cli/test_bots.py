"""`leadwire bots` on files: what it prints and how it exits."""

import json
import subprocess
import sys

from leadwire.domain.bots.flow import library
from tests.domain.bots.flows import PRIVACY


def leadwire(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "leadwire", *arguments], capture_output=True, text=True, check=False, timeout=240
    )


def test_a_good_flow_is_called_good(tmp_path):
    file = tmp_path / "flow.toml"
    file.write_text(library.text("demo-booking", PRIVACY))
    result = leadwire("bots", "validate", str(file))
    assert (result.returncode, result.stderr) == (0, "")
    assert "12 nodes" in result.stdout


def test_faults_are_printed_where_editors_find_them(tmp_path):
    file = tmp_path / "flow.toml"
    text = library.text("demo-booking", PRIVACY).replace('next = "website"', 'next = "web"')
    file.write_text(text)
    line = text[: text.index('next = "web"')].count("\n") + 1
    result = leadwire("bots", "validate", str(file))
    assert result.returncode == 1
    assert result.stderr == f"{file}:{line}: node 'email': This leads to a step that is not there: 'web'.\n"
    faults = json.loads(leadwire("bots", "validate", "--json", str(file)).stdout)["faults"]
    assert [(fault["code"], fault["node"], fault["line"]) for fault in faults] == [("unknown_node", "email", line)]


def test_what_is_no_text_is_told_in_a_line(tmp_path):
    file = tmp_path / "flow.toml"
    file.write_bytes(b"\xff\xfe")
    result = leadwire("bots", "validate", str(file))
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)

"""The programs of the documents, and the samples of the reference, under `mypy --strict`."""

import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

from leadwire.interfaces.docs import reference
from tests.docs.commands import DOCS, ROOT

PAGES = [*DOCS.glob("*.md"), ROOT / "src" / "leadwire_client" / "README.md"]
SAMPLES = tomllib.loads((Path(reference.__file__).parent / "samples.toml").read_text())
SAMPLE = """
def {name}(lw: Leadwire, LEAD: str, CONVERSATION: str, BOT: str, EVENT: str, EXPORT: str) -> None:
{body}
"""


def test_every_program_in_python_is_typed(tmp_path):
    pytest.importorskip("mypy")
    programs = {page.stem: re.findall(r"```python\n(.+?)```", page.read_text(), re.DOTALL) for page in PAGES}
    programs["samples"] = ["from leadwire_client import Leadwire"] + [
        SAMPLE.format(name=name, body=textwrap.indent(sample["python"], "    ")) for name, sample in SAMPLES.items()
    ]
    written = {name: parts for name, parts in programs.items() if parts}
    assert written.keys() >= {"start", "sync", "receiving-webhooks", "clients", "testing", "README"}
    for name, parts in written.items():
        (tmp_path / f"{name.replace('-', '_')}.py").write_text("\n".join(parts))
    command = [sys.executable, "-m", "mypy", "--strict", *sorted(path.name for path in tmp_path.iterdir())]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

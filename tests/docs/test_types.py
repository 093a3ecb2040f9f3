"""The programs of the documents, and the samples of the reference, under `mypy --strict`. `python -m ops.generators
pyright` has the other checker that integrators use.
"""

import subprocess
import sys

import pytest
from ops.generators.documents import programs


def test_every_program_in_python_is_typed(tmp_path):
    pytest.importorskip("mypy")
    written = programs()
    assert written.keys() >= {
        f"{name}.py"
        for name in ("start", "sync", "receiving_webhooks", "clients", "testing", "README", "samples", "verifiers")
    }
    for name, text in written.items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", *sorted(written)]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

"""A Python environment of its own for what Leadwire is compared with."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def python(folder: Path, needed: Sequence[str]) -> Path:
    """Return the interpreter of the environment in `folder`, which is made anew when it has not what is `needed`."""
    found, mark = folder / "bin" / "python", folder / "made-of.txt"
    made_of = "\n".join([sys.version, *needed])
    if not (mark.exists() and mark.read_text() == made_of):
        print(f"making the environment {folder.name} ...", file=sys.stderr)
        subprocess.run(["uv", "venv", "-q", "--clear", "--python", sys.executable, str(folder)], check=True)
        subprocess.run(["uv", "pip", "install", "-q", "--python", str(found), *needed], check=True)
        mark.write_text(made_of)
    return found

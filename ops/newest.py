"""The tests of what stands on others' code, on the newest releases instead of those of the lock.

    uv run python -m ops.newest                                   # as far as the bounds of pyproject.toml allow
    uv run python -m ops.newest --pre                             # pre-releases as well
    uv run python -m ops.newest --pre --beyond uvicorn asyncpg    # and without the bounds of these
    uv run python -m ops.newest --pre tests/client -k retry       # other tests

Runs in an environment of its own, which is deleted; the lock stays as it is. Prints first what differs from it.
Exits as pytest does.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = tuple(f"tests/{name}" for name in ("client", "delivery", "domain", "infrastructure", "interfaces", "flows"))


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ops.newest", allow_abbrev=False)
    parser.add_argument("--pre", action="store_true", help="pre-releases, too")
    parser.add_argument("--beyond", nargs="+", default=[], metavar="NAME", help="what may be newer than its bound")
    parser.add_argument("--python", default=sys.executable, help="a version or an interpreter (default: this one)")
    return parser


def install(directory: Path, asked: argparse.Namespace) -> Path:
    """Make the environment. Answers its interpreter. Raises CalledProcessError, also when nothing fits together."""
    python, unbound = directory / "bin" / "python", directory / "unbound.txt"
    subprocess.run(["uv", "venv", "--quiet", "--no-project", "--python", asked.python, directory], check=True)
    unbound.write_text("\n".join(asked.beyond))
    command = ["uv", "pip", "install", "--quiet", "--python", python, "--upgrade", "--overrides", unbound]
    command += ["--prerelease", "allow" if asked.pre else "if-necessary-or-explicit", "--group", "test"]
    editable = [part for folder in (".", "src/leadwire_client", "src/leadwire_development") for part in ("-e", folder)]
    subprocess.run([*command, *editable], check=True, cwd=ROOT)
    return python


def releases(python: Path | str) -> dict[str, str]:
    """What is installed, and in which version."""
    told = subprocess.run(
        ["uv", "pip", "list", "--quiet", "--format", "json", "--python", python],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return {one["name"]: one["version"] for one in json.loads(told.stdout)}


def main(arguments: list[str]) -> int:
    asked, rest = options().parse_known_args(arguments)
    with tempfile.TemporaryDirectory(prefix="leadwire-newest-") as name:
        directory = Path(name)
        directory.chmod(0o711)  # as root the servers, which are in it, run as `nobody`
        python = install(directory, asked)
        before, now = releases(sys.executable), releases(python)
        for package in sorted(now):
            if now[package] != before.get(package):
                print(f"{package} {before.get(package, '-')} -> {now[package]}")
        sys.stdout.flush()
        tests = [] if any(part.startswith("tests") for part in rest) else TESTS
        clean = {**os.environ, "VIRTUAL_ENV": name, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
        return subprocess.run([python, "-m", "pytest", *tests, *rest], check=False, cwd=ROOT, env=clean).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

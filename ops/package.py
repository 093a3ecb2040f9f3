"""Whether the wheel works where nothing of this checkout is: installed into an empty environment of each Python, it is
started with `leadwire up` until the demo's receiver has verified a webhook, and stopped.

    uv run python -m ops.package                  # 3.11, 3.12 and 3.13
    uv run python -m ops.package 3.13 /opt/python3.14/bin/python
"""

import argparse
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

PYTHONS = ("3.11", "3.12", "3.13")
PATIENCE = 120  # seconds from `up` to the first verified webhook
ROOT = Path(__file__).parents[1]


def build(directory: Path) -> Path:
    """The wheel, made in `directory`."""
    subprocess.run(["uv", "build", "--wheel", "--quiet", "--out-dir", directory, ROOT], check=True)
    (wheel,) = directory.glob("*.whl")
    return wheel


def install(wheel: Path, python: str, directory: Path) -> Path:
    """An environment with the wheel, what the lock says it needs, and nothing else. Answers its `leadwire`."""
    quiet = {**os.environ, "VIRTUAL_ENV": str(directory)}
    subprocess.run(["uv", "venv", "--quiet", "--no-project", "--python", python, directory], check=True)
    locked = directory / "requirements.txt"
    export = ["uv", "export", "--quiet", "--frozen", "--no-default-groups", "--extra", "embedded", "--no-emit-project"]
    subprocess.run([*export, "--output-file", locked], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    subprocess.run(["uv", "pip", "install", "--quiet", "-r", locked], check=True, env=quiet)
    subprocess.run(["uv", "pip", "install", "--quiet", "--no-deps", wheel], check=True, env=quiet)
    return directory / "bin" / "leadwire"


def webhook_seconds(leadwire: Path, directory: Path) -> float:
    """Seconds from `leadwire up` to the first webhook that arrived and was verified. Raises RuntimeError."""
    clean = {
        name: value for name, value in os.environ.items() if not name.startswith(("LEADWIRE_", "PYTHON", "VIRTUAL"))
    }
    directory.chmod(0o711)  # as root the servers run as `nobody`
    printed = directory / "printed"
    began = time.monotonic()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with printed.open("wb") as out:
        up = subprocess.Popen([leadwire, "up", "--port", str(port)], cwd=directory, env=clean, stdout=out, stderr=out)
    try:
        while " verified " not in printed.read_text():
            if up.poll() is not None or time.monotonic() > began + PATIENCE:
                raise RuntimeError(printed.read_text())
            time.sleep(0.1)
        took = time.monotonic() - began
        up.send_signal(signal.SIGINT)
        if up.wait(30) not in (0, 130):
            raise RuntimeError(f"ended with {up.returncode}\n{printed.read_text()}")
        return took
    finally:
        with contextlib.suppress(ProcessLookupError):
            up.kill()


def main(pythons: Sequence[str]) -> int:
    work = Path(tempfile.mkdtemp(prefix="leadwire-package-"))
    work.chmod(0o711)
    failed = 0
    try:
        wheel = build(work)
        print(f"{wheel.name}: {wheel.stat().st_size / 1024:.0f} KiB")
        for number, python in enumerate(pythons):
            place = work / f"run{number}"
            place.mkdir()
            try:
                leadwire = install(wheel, python, work / f"environment{number}")
                print(f"{python}: a verified webhook {webhook_seconds(leadwire, place):.1f} s after `leadwire up`")
            except (RuntimeError, subprocess.CalledProcessError) as error:
                failed = 1
                print(f"{python}: FAILED: {error}")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return failed


if __name__ == "__main__":
    options = argparse.ArgumentParser(prog="python -m ops.package")
    options.add_argument("python", nargs="*", default=PYTHONS, help="a version or an interpreter")
    sys.exit(main(options.parse_args().python))

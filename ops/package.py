"""Whether the wheels work where nothing of this checkout is, each installed into an empty environment of each Python.

The client's has every module imported. The server's alone explains its commands; with the one for development,
`leadwire up` is started until the demo's receiver has verified a webhook, and stopped.

    uv run python -m ops.package                  # 3.11 to 3.14
    uv run python -m ops.package 3.14 /opt/python3.15/bin/python
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

DISTRIBUTIONS = ("leadwire", "leadwire-client", "leadwire-development")
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PATIENCE = 120  # seconds from `up` to the first verified webhook
ROOT = Path(__file__).parents[1]


def build(name: str, directory: Path, root: Path = ROOT) -> Path:
    """The wheel of a distribution, made in `directory` of the checkout `root`."""
    subprocess.run(["uv", "build", "--wheel", "--quiet", "--package", name, "--out-dir", directory, root], check=True)
    (wheel,) = directory.glob(f"{name.replace('-', '_')}-*.whl")
    return wheel


def install(wheels: Sequence[Path], python: str, directory: Path, *export: str, root: Path = ROOT) -> Path:
    """An environment with the wheels, what the lock says they need, and nothing else. Answers its programs' folder.

    `root` is the checkout with the lock. `export` are options for `uv export`: the distribution, its extras.
    """
    quiet = {**os.environ, "VIRTUAL_ENV": str(directory)}
    subprocess.run(["uv", "venv", "--quiet", "--no-project", "--python", python, directory], check=True)
    locked = directory / "requirements.txt"
    command = ["uv", "export", "--quiet", "--frozen", "--no-default-groups", "--no-emit-workspace", *export]
    subprocess.run([*command, "--output-file", locked], check=True, cwd=root, stdout=subprocess.DEVNULL)
    subprocess.run(["uv", "pip", "install", "--quiet", "-r", locked], check=True, env=quiet)
    subprocess.run(["uv", "pip", "install", "--quiet", "--no-deps", *wheels], check=True, env=quiet)
    return directory / "bin"


def import_all(python: Path, directory: Path) -> None:
    """Import every module of the client. Raises CalledProcessError."""
    program = """if True:
        import importlib, pkgutil, leadwire_client
        for module in pkgutil.iter_modules(leadwire_client.__path__, "leadwire_client."):
            importlib.import_module(module.name)"""
    subprocess.run([python, "-W", "error", "-c", program], check=True, cwd=directory)


def explain(leadwire: Path, directory: Path) -> None:
    """Show the help of what runs in production, where nothing is for development. Raises CalledProcessError."""
    for command in ((), ("serve",), ("relay",), ("deliver",), ("background",), ("migrate",), ("doctor",)):
        subprocess.run([leadwire, *command, "--help"], check=True, cwd=directory, stdout=subprocess.DEVNULL)


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


def import_typescript(archive: Path, directory: Path) -> None:
    """Install the package of npm into an empty folder, and import it. Raises CalledProcessError."""
    quiet = ["--silent", "--no-audit", "--no-fund", "--prefix", directory]
    subprocess.run(["npm", "install", *quiet, archive], check=True, cwd=directory)
    program = "import('@leadwire/client').then((all) => { if (!all.Leadwire || !all.verify) process.exit(1); })"
    subprocess.run(["node", "-e", program], check=True, cwd=directory)


def try_out(built: Path, pythons: Sequence[str]) -> int:
    """Install what a directory has into empty environments and use it. Return 1 if anything does not work."""
    work = Path(tempfile.mkdtemp(prefix="leadwire-package-"))
    work.chmod(0o711)
    failed = 0
    server, client, development = (next(built.glob(f"{name.replace('-', '_')}-*.whl")) for name in DISTRIBUTIONS)
    try:
        for made in (server, client, development, *(archives := [*built.glob("leadwire-client-*.tgz")])):
            print(f"{made.name}: {made.stat().st_size / 1024:.0f} KiB")
        for archive in archives:
            (work / "npm").mkdir()
            import_typescript(archive, work / "npm")
            print("Node.js: the client is imported")
        for number, python in enumerate(pythons):
            place = work / f"run{number}"
            place.mkdir()
            try:
                programs = install([client], python, work / f"client{number}", "--package", "leadwire-client")
                import_all(programs / "python", place)
                print(f"{python}: the client is imported")
                programs = install([server], python, work / f"server{number}", "--package", "leadwire")
                explain(programs / "leadwire", place)
                print(f"{python}: the server explains its commands")
                both = [server, development]
                leadwire = install(both, python, work / f"up{number}", "--extra", "embedded") / "leadwire"
                print(f"{python}: a verified webhook {webhook_seconds(leadwire, place):.1f} s after `leadwire up`")
            except (RuntimeError, subprocess.CalledProcessError) as error:
                failed = 1
                print(f"{python}: FAILED: {error}")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return failed


def main(pythons: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="leadwire-built-") as directory:
        for name in DISTRIBUTIONS:
            build(name, Path(directory))
        return try_out(Path(directory), pythons)


if __name__ == "__main__":
    options = argparse.ArgumentParser(prog="python -m ops.package")
    options.add_argument("python", nargs="*", default=PYTHONS, help="a version or an interpreter")
    sys.exit(main(options.parse_args().python))

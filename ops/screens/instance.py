"""A Leadwire of its own, with a day's worth of things to see."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

_PATIENCE = 300  # seconds for everything to be up


@contextlib.contextmanager
def instance(port: int) -> Iterator[dict[str, Any]]:
    """`leadwire up` with quick retries, while the block runs; gives what its `up.json` says, and `data_dir`."""
    with tempfile.TemporaryDirectory(prefix="leadwire-screens-") as directory:
        Path(directory).chmod(0o711)
        command = [sys.executable, "-m", "leadwire", "up", "--port", str(port), "--data-dir", f"{directory}/data"]
        environment = {**os.environ, "LEADWIRE_RETRY_SCHEDULE": "1,2,3"}
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as running:
            try:
                yield _up(running, Path(directory, "data", "up.json"))
            finally:
                running.terminate()
                running.wait(60)


def _up(running: "subprocess.Popen[bytes]", told: Path) -> dict[str, Any]:
    for _ in range(_PATIENCE * 2):
        if running.poll() is not None:
            raise SystemExit("`leadwire up` ended; run it by hand to see why")
        with contextlib.suppress(OSError, ValueError, httpx.HTTPError, KeyError):
            found: dict[str, Any] = json.loads(told.read_text())
            if httpx.get(f"{found['url']}/health/ready").is_success:
                return found | {"data_dir": str(told.parent)}
        time.sleep(0.5)
    raise SystemExit("`leadwire up` did not come up")

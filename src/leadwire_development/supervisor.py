"""Child processes: started, restarted when they die, stopped, never left behind.

Each child holds the read end of a pipe on standard input. When the supervisor is gone, even by SIGKILL, the pipe
ends and the child stops itself.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import click

from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.process import SUPERVISED

_PATIENCE: Final = 8.0  # seconds between SIGTERM and SIGKILL
_HOPELESS: Final = 5  # deaths in a row, each within a few seconds of its start
_SOON: Final = 3.0


class Child:
    """One `leadwire` command kept running. Its log is a file; what it prints is there too, or with `shown` here."""

    def __init__(
        self,
        name: str,
        arguments: list[str],
        environment: Mapping[str, str],
        logs: Path,
        *,
        module: str = "leadwire",
        shown: bool = False,
    ) -> None:
        self.name = name
        self.pid = 0
        self._command = (sys.executable, "-m", module, *arguments)
        self._environment = {**os.environ, **environment, SUPERVISED: "1"}
        self._log = logs / f"{name}.log"
        self._shown = shown
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it. Its own session: Ctrl-C reaches the supervisor alone, which stops everything in order."""
        self._log.touch(mode=0o600)
        with self._log.open("ab") as log:
            os.fchmod(log.fileno(), 0o600)  # an earlier version made it readable to others
            self._process = await asyncio.create_subprocess_exec(
                *self._command, stdin=asyncio.subprocess.PIPE, stdout=None if self._shown else log, stderr=log,
                env=self._environment, start_new_session=True,
            )  # fmt: skip
        self.pid = self._process.pid

    def has_died(self) -> bool:
        return self._process is not None and self._process.returncode is not None

    async def keep_running(self, changed: Callable[[], None]) -> None:
        """Restart it whenever it ends. Raises OperatorError when it will not stay up."""
        loop = asyncio.get_running_loop()
        deaths = 0
        while True:
            started = loop.time()
            assert self._process is not None  # noqa: S101 - start comes first
            code = await self._process.wait()
            deaths = deaths + 1 if loop.time() - started < _SOON else 0
            if deaths >= _HOPELESS:
                raise OperatorError(f"{self.name} does not stay up: {self.last_log_line()}")
            reason = signal.Signals(-code).name if code < 0 else f"exit {code}"
            click.secho(f"  {self.name} died ({reason}), starting it again", fg="yellow")
            await asyncio.sleep(0.2 * deaths)
            await self.start()
            changed()

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL if that is not enough."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), _PATIENCE)
            except TimeoutError:
                process.kill()
                await process.wait()

    def last_log_line(self) -> str:
        """Return the last line of its log, safe to print on a terminal."""
        with contextlib.suppress(OSError, IndexError):
            return f"{plain(self._log.read_text(errors='replace').strip().splitlines()[-1], 300)} ({self._log})"
        return f"see {self._log}"


def plain(text: str, most: int = 100) -> str:
    """Return text safe for any terminal: no control characters, and not longer than a line."""
    return "".join(character if " " <= character <= "~" else "?" for character in text[:most])

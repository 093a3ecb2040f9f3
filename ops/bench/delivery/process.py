"""A process under measurement."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

_TICK = os.sysconf("SC_CLK_TCK")
LEAST_CPU = 1 / _TICK  # seconds; a process that used less is told to have used none


class Process:
    """`async with Process("relay") as relay`: what it has used is by the operating system's account."""

    def __init__(self, command: str, program: Sequence[str] = (sys.executable, "-m", "leadwire")) -> None:
        self._command = (*program, command)

    async def __aenter__(self) -> Self:
        null = asyncio.subprocess.DEVNULL
        self._process = await asyncio.create_subprocess_exec(*self._command, stdout=null, stderr=null)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._process.returncode is None:
            self._process.terminate()
            await self._process.wait()

    async def kill(self) -> None:
        """End it at once, whatever it has in hand."""
        self._process.kill()
        await self._process.wait()

    @property
    def pid(self) -> int:
        """Its id."""
        return self._process.pid

    def cpu(self) -> float:
        """Seconds of CPU so far, all threads."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    def memory(self) -> float:
        """Resident MB now."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

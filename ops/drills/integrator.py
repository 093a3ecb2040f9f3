"""Somebody in another company, with an address and a key: all else is from the documents that the service serves."""

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import httpx

from ops.drills.sandbox import Sandbox

_TYPESCRIPT: Final = ("typescript@5.9.3", "@types/node@22")
_STRICT: Final = {
    "strict": True, "exactOptionalPropertyTypes": True, "noUncheckedIndexedAccess": True, "module": "nodenext",
    "target": "es2022", "types": ["node"],
}  # fmt: skip


class Program:
    """One that runs, and what it has printed so far."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, said: Path) -> None:
        self.name, self._process, self._said = name, process, said

    @property
    def lives(self) -> bool:
        """Whether it has not ended."""
        return self._process.returncode is None

    def lines(self) -> list[str]:
        """What it has printed, but for a line that is not whole."""
        return self._said.read_text().split("\n")[:-1]

    async def end(self) -> None:
        """Kill it."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGKILL)
        await self._process.wait()


class Integrator:
    """A virtual environment and a folder of npm, both new, with the clients of the service at `url`."""

    def __init__(self, sandbox: Sandbox, url: str) -> None:
        self._sandbox, self._url = sandbox, url
        self.folder = sandbox.directory / "integrator"
        self.folder.mkdir()
        self._programs: list[Program] = []
        known = {name: text for name, text in os.environ.items() if not name.startswith(("LEADWIRE_", "VIRTUAL_ENV"))}
        path = f"{self.folder / 'venv' / 'bin'}:{known['PATH']}"
        self.environment = known | {"PATH": path, "URL": url, "KEY": sandbox.workload.key}

    async def install(self) -> None:
        """Install both clients by the lines of the page about them, and what checks types."""
        (self.folder / "package.json").write_text('{"type": "module", "private": true}')
        (self.folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": _STRICT, "include": ["*.mts"]}))
        page = await self.page("clients")
        lines = re.findall(r"^(?:pip|npm) install \S+$", page, re.MULTILINE)
        made = await self._run(sys.executable, "-m", "venv", "venv")
        for line in lines:
            self._sandbox.say(f"$ {line}")
            made = made and await self._run("sh", "-c", line)
        self._sandbox.claim("both clients are installed as the page says", made and len(lines) == 2)
        tools = await self._run("pip", "install", "--quiet", "mypy", "pyright")
        tools = tools and await self._run("npm", "install", "--silent", "--no-audit", "--no-fund", *_TYPESCRIPT)
        self._sandbox.claim("what checks types is installed", tools)

    async def page(self, name: str) -> str:
        """A page of the documents, as Markdown."""
        async with httpx.AsyncClient(trust_env=False) as client:
            return (await client.get(f"{self._url}/docs/{name}.md")).raise_for_status().text

    async def program(self, page: str, language: str) -> str:
        """The program in this language that a page shows, block after block."""
        return "\n".join(re.findall(rf"```{language}\n(.+?)```", await self.page(page), re.DOTALL))

    async def typed(self, files: Mapping[str, str]) -> None:
        """Write programs, and check their types as strictly as the tools can."""
        for name, text in files.items():
            (self.folder / name).write_text(text)
        ours = [name for name in files if name.endswith(".py")]
        (self.folder / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict", "include": ours}))
        for command in (("mypy", "--strict", *ours), ("pyright",), ("npx", "tsc")):
            self._sandbox.claim(f"{command[0]} {command[-1]} has no objection", await self._run(*command))

    async def start(self, name: str, *command: str, **settings: str) -> Program:
        """Start a program."""
        said = self.folder / f"{name}.out"
        with said.open("wb") as out, (self.folder / f"{name}.err").open("wb") as err:
            process = await asyncio.create_subprocess_exec(
                *command, cwd=self.folder, env=self.environment | settings, stdout=out, stderr=err
            )
        self._programs.append(Program(name, process, said))
        return self._programs[-1]

    async def close(self) -> None:
        """End what was started. Print why a program has ended that should not have."""
        for one in self._programs:
            if not one.lives:
                print((self.folder / f"{one.name}.err").read_text()[-2000:], flush=True)
            await one.end()

    async def _run(self, *command: str) -> bool:
        process = await asyncio.create_subprocess_exec(
            *command, cwd=self.folder, env=self.environment, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        said = (await process.communicate())[0].decode()
        if process.returncode:
            print(said[-4000:], flush=True)
        return process.returncode == 0

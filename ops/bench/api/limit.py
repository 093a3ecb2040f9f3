"""What PostgreSQL alone can do: pgbench sends the same statements, as cheaply as a client can."""

import asyncio
import re
import subprocess
import tempfile
from pathlib import Path

from leadwire.infrastructure import db
from leadwire.infrastructure.errors import OperatorError
from leadwire_development.embedded import binaries
from ops.bench.api import statements
from ops.bench.api.data import Data
from ops.bench.api.statements import Script


def pgbench() -> tuple[Path | None, str]:
    """The program beside the server's, or None and why."""
    try:
        path = binaries.find("postgres").path.with_name("pgbench")
    except OperatorError as error:
        return None, str(error)
    return (path, "") if path.exists() else (None, f"there is no pgbench in {path.parent}")


def measure(program: Path, url: str, kind: str, data: Data, seconds: float, connections: int) -> float:
    """Requests a second, if PostgreSQL were all there is to them."""
    how_long = ["-T", str(max(1, round(seconds)))]
    return run(program, url, asyncio.run(_recorded(url, kind, data)), ["-c", str(connections), *how_long])


async def _recorded(url: str, kind: str, data: Data) -> Script:
    await db.open_pool(url, 2, role="engine")
    try:
        return await statements.script(kind, data)
    finally:
        await db.close_pool()


def run(program: Path, url: str, script: Script, options: list[str]) -> float:
    """Transactions a second. Raises SystemExit with what pgbench said when it fails."""
    variables = [part for name, value in script.variables.items() for part in ("-D", f"{name}={value}")]
    settings = " ".join(f"-c {name}={value}" for name, value in script.settings.items())
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(script.text)
        file.flush()
        command = [str(program), "-M", "prepared", "-n", "-j", "1", *options, *variables, "-f", file.name, url]
        ended = subprocess.run(command, env={"PGOPTIONS": settings}, capture_output=True, text=True, check=False)
    told = re.search(r"^tps = ([\d.]+)", ended.stdout, re.MULTILINE)
    if ended.returncode or not told:
        raise SystemExit(f"pgbench failed: {ended.stderr[-2000:]}")
    return float(told[1])

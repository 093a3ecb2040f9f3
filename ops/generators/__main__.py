"""`python -m ops.generators`: the tools, or those named, against servers of their own. Exit 1 when one fails."""

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from ops.generators.tools import TOOLS, Tool


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m ops.generators", description=__doc__)
    by_name = ", ".join(tool.name for tool in TOOLS if tool.by_name)
    known = f"of {', '.join(tool.name for tool in TOOLS)}; without any, all but {by_name}, which takes minutes"
    parser.add_argument("tools", nargs="*", metavar="TOOL", help=known)
    asked = parser.parse_args().tools
    if unknown := set(asked) - {tool.name for tool in TOOLS}:
        parser.error(f"no such tool: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="leadwire-generators-") as directory:
        os.chmod(directory, 0o711)  # noqa: PTH101 - as root the database server runs as `nobody`
        os.environ |= {"LEADWIRE_DATA_DIR": f"{directory}/data", "LEADWIRE_RATE_LIMIT": "0"}
        return asyncio.run(_all(chosen(asked), Path(directory)))


def chosen(asked: list[str]) -> list[Tool]:
    """Return the tools of these names; without any, those that are run without being named."""
    return [tool for tool in TOOLS if (tool.name in asked if asked else not tool.by_name)]


async def _all(tools: list[Tool], directory: Path) -> int:
    import httpx

    from ops.schemathesis.server import filled

    async with filled() as (url, key):
        async with httpx.AsyncClient() as client:
            document = (await client.get(f"{url}/schema")).content
        failed = 0
        for tool in tools:  # one after the other: each fills the cores by itself
            failed += await _run(tool, directory / tool.name, document, {**os.environ, "URL": url, "KEY": key})
    return 1 if failed else 0


async def _run(tool: Tool, directory: Path, document: bytes, environment: dict[str, str]) -> bool:
    """Run one tool. Return whether it failed; a tool without its runtime is skipped."""
    if missing := [need for need in tool.needs if not shutil.which(need)]:
        print(f"skipped  {tool.name}: there is no {', '.join(missing)} here", flush=True)
        return False
    _lay_out(directory, {**tool.files, "openapi.json": document.decode()})
    start = time.monotonic()
    for step in tool.steps:
        process = await asyncio.create_subprocess_exec(
            *step, cwd=directory, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        said = (await process.communicate())[0].decode(errors="replace")
        if process.returncode or (tool.silent and tool.silent in said):
            print(f"FAILED   {tool.name}: {' '.join(step)}\n{said}", flush=True)
            return True
    print(f"works    {tool.name} ({time.monotonic() - start:.0f} s)", flush=True)
    return False


def _lay_out(directory: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)


if __name__ == "__main__":
    sys.exit(main())

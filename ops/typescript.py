"""What the TypeScript client's package holds, compiled: `src/leadwire_client_ts/lib`, after a change of its sources.

uv run python -m ops.typescript

Needs Node.js and npm. The types of the API are not in it: the service adds those of its own document.
"""

import asyncio
import shutil
import subprocess
import tempfile
from pathlib import Path

import httpx

from leadwire.app import create_app
from leadwire.interfaces.docs import clients

PACKAGE = Path(__file__).parents[1] / "src" / "leadwire_client_ts"


async def _types() -> str:
    transport = httpx.ASGITransport(create_app())  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://build") as client:
        return clients.types((await client.get("/schema")).json())


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="leadwire-typescript-") as work:
        copy = shutil.copytree(PACKAGE, Path(work) / "client", ignore=shutil.ignore_patterns("node_modules", "lib"))
        (copy / "src" / "schema.d.ts").write_text(asyncio.run(_types()))
        for command in (("ci", "--ignore-scripts", "--no-audit", "--no-fund"), ("run", "build")):
            subprocess.run(["npm", *command], check=True, cwd=copy)
        shutil.rmtree(PACKAGE / "lib", ignore_errors=True)
        shutil.copytree(copy / "lib", PACKAGE / "lib")


if __name__ == "__main__":
    main()

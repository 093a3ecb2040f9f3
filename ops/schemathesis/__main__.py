"""`python -m ops.schemathesis`: a long run against servers of its own, or against a running one."""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile

from ops.schemathesis.command import command


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m ops.schemathesis", description=__doc__)
    parser.add_argument("--url", help="a running server, to be filled with nonsense; default: one of our own")
    parser.add_argument("--key", default=os.environ.get("API_KEY", ""), help="its API key, with all scopes ($API_KEY)")
    parser.add_argument("--examples", type=int, default=500, help="per operation and phase (default %(default)s)")
    parser.add_argument("--seconds", type=int, help="go on for as long")
    parser.add_argument("--seed", type=int, help="repeat a run")
    given = parser.parse_args()
    if given.url:
        return subprocess.run(_command(given, given.url.rstrip("/"), given.key), check=False).returncode
    with tempfile.TemporaryDirectory(prefix="leadwire-schemathesis-") as directory:
        os.chmod(directory, 0o711)  # noqa: PTH101 - as root the database server runs as `nobody`
        os.environ |= {"LEADWIRE_DATA_DIR": directory, "LEADWIRE_RATE_LIMIT": "0"}
        return asyncio.run(_own(given))


def _command(given: argparse.Namespace, url: str, key: str) -> list[str]:
    return command(url, key, examples=given.examples, seed=given.seed, seconds=given.seconds)


async def _own(given: argparse.Namespace) -> int:
    from leadwire.infrastructure import settings
    from ops.schemathesis.server import filled

    async with filled() as (url, key):
        process = await asyncio.create_subprocess_exec(*_command(given, url, key), cwd=settings.get().data_dir)
        return await process.wait()


if __name__ == "__main__":
    sys.exit(main())

"""`python -m ops.tenants`: who must not, tried on every route; on servers of its own, or on a running instance.

With `--url` the settings have to be those of the instance, for the two workspaces and their people are made in its
database; they are deleted afterwards.
"""

import argparse
import asyncio
import os
import sys
import tempfile


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m ops.tenants", description=__doc__)
    parser.add_argument("--url", help="a running instance that the settings are of; default: one of our own")
    given = parser.parse_args()
    if given.url:
        return asyncio.run(_run(given.url.rstrip("/")))
    with tempfile.TemporaryDirectory(prefix="leadwire-tenants-") as directory:
        os.chmod(directory, 0o711)  # noqa: PTH101 - as root the database server runs as `nobody`
        os.environ |= {"LEADWIRE_DATA_DIR": directory, "LEADWIRE_RATE_LIMIT": "0"}
        os.environ["LEADWIRE_ALLOWED_NETWORKS"] = "127.0.0.0/8"
        return asyncio.run(_run(""))


async def _run(url: str) -> int:
    from leadwire.app import create_app
    from ops.tenants.report import table
    from ops.tenants.routes import routes
    from ops.tenants.server import instance, tried

    async with instance(url) as address:
        matrix = await tried(address, routes(create_app().app))
    print(table(matrix))
    return 1 if matrix.holes or matrix.untried else 0


if __name__ == "__main__":
    sys.exit(main())

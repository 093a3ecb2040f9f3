"""Inject faults into real processes and servers, on a seeded schedule and under load; then print a scorecard.

    uv run python -m ops.chaos [--events 5000] [--seed 7] [--seconds 120] [--every 4] [--act-every 2]
                               [--faults kill,stop,redis] [--production] [--json FILE]
    uv run python -m ops.chaos --replays      # 17 of them beside 100 changes a second; nothing else

Exit 1 when a delivery is lost, a duplicate unexplained, the ledger not clean, or anything else not as promised. Leases
and waits are shortened, so that a run ends soon; `--production` leaves them as a new installation has them.
"""

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path

import msgspec

from leadwire.infrastructure import settings
from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import services
from ops.chaos import faults, replays, report
from ops.chaos.acts import ACTS
from ops.chaos.plan import schedule
from ops.chaos.run import SHORT, RunOptions, run


def main() -> int:
    """Run it and return the exit code."""
    options = argparse.ArgumentParser(prog="python -m ops.chaos")
    options.add_argument("--events", type=int, default=5000, help="changes to make")
    options.add_argument("--seconds", type=float, default=120.0, help="in how many seconds, faults all the while")
    options.add_argument("--every", type=float, default=4.0, help="seconds from one fault to the next, on average")
    options.add_argument("--act-every", type=float, default=2.0, help="seconds between what customers do; 0: nothing")
    options.add_argument("--faults", type=faults.chosen, default=list(faults.FAULTS), help="kinds, or words of them")
    options.add_argument("--seed", type=int, default=7)
    options.add_argument("--settle", type=float, default=0.0, help="limit in seconds until everything is delivered")
    options.add_argument("--production", action="store_true", help="lease, timeout and waits as they are by default")
    options.add_argument("--replays", action="store_true", help="only replays beside changes, and no fault")
    options.add_argument("--json", type=Path, help="write the scorecard there, too")
    asked = options.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="leadwire-chaos-"))
    directory.chmod(0o711)  # as root the servers run as `nobody`
    try:
        with services(Settings(data_dir=directory)) as running:
            environment = {
                "LEADWIRE_DATA_DIR": str(directory),
                "LEADWIRE_DATABASE_URL": running.database_url,
                "LEADWIRE_REDIS_URL": running.redis_url,
                "LEADWIRE_ALLOWED_NETWORKS": "127.0.0.0/8",
                "LEADWIRE_RATE_LIMIT": "0",
            } | ({} if asked.production else SHORT)
            for name in [name for name in os.environ if name.startswith("LEADWIRE_")]:
                del os.environ[name]
            os.environ |= environment
            settings.get.cache_clear()
            if asked.replays:
                broken = asyncio.run(replays.run(running, environment, directory))
                print("NOT KEPT: " + "; ".join(broken) if broken else "Every promise was kept.")
                return 1 if broken else 0
            plan = schedule(asked.faults, asked.seconds, asked.every, asked.seed)
            doing = schedule(list(ACTS), asked.seconds, asked.act_every, asked.seed + 1) if asked.act_every else []
            settle = asked.settle or (1200.0 if asked.production else 120.0)
            run_options = RunOptions(asked.events, asked.seconds, asked.seed, settle, plan, doing)
            cards = asyncio.run(run(running, environment, directory, run_options))
    finally:
        if os.environ.get("CHAOS_KEEP"):
            print(f"logs and journal in {directory}")
        else:
            shutil.rmtree(directory, ignore_errors=True)
    if asked.json:
        asked.json.write_bytes(msgspec.json.format(msgspec.json.encode(cards), indent=2))
    print("\n".join(report.lines(cards)))
    return 1 if any(card.failures for card in cards.values()) else 0


if __name__ == "__main__":
    sys.exit(main())

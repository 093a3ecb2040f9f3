"""Write `rules.yml`: `uv run python -m ops.prometheus [--runbooks URL]`."""

import argparse
from pathlib import Path

from ops.prometheus.rules import RUNBOOKS, text

parser = argparse.ArgumentParser(prog="python -m ops.prometheus", description="Write the recording and alert rules.")
parser.add_argument(
    "--runbooks", default=RUNBOOKS, help="the /docs of your installation, which have them (default: %(default)s)"
)
parser.add_argument("--to", type=Path, default=Path(__file__).with_name("rules.yml"), help="default: rules.yml here")
chosen = parser.parse_args()
chosen.to.write_text(text(chosen.runbooks))
print(f"{chosen.to} is written.")

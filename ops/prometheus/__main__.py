"""Write `rules.yml`: `uv run python -m ops.prometheus [--runbooks URL] [--kubernetes]`."""

import argparse
from pathlib import Path

from ops.prometheus.rules import RUNBOOKS, resource, text

parser = argparse.ArgumentParser(prog="python -m ops.prometheus", description="Write the recording and alert rules.")
parser.add_argument(
    "--runbooks", default=RUNBOOKS, help="the /docs of your installation, which have them (default: %(default)s)"
)
parser.add_argument("--to", type=Path, default=Path(__file__).with_name("rules.yml"), help="default: rules.yml here")
parser.add_argument("--kubernetes", action="store_true", help="print them as a PrometheusRule instead")
chosen = parser.parse_args()
if chosen.kubernetes:
    print(resource(chosen.runbooks))
else:
    chosen.to.write_text(text(chosen.runbooks))
    print(f"{chosen.to} is written.")

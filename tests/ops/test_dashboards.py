"""Every query of every dashboard asks for what exists, in PromQL that Prometheus accepts."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from ops.grafana.boards import ALL
from ops.grafana.panels import text
from ops.prometheus.rules import ALERTS
from ops.prometheus.rules import text as rules

from tests.ops.queries import asked, labels_unknown, series, unknown

FOLDER = Path(__file__).parents[2] / "ops" / "grafana"

each_board = pytest.mark.parametrize("name", ALL)


def expressions(name):
    board = json.loads((FOLDER / f"{name}.json").read_text())
    panels = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    return panels + [one["expr"] for one in board["annotations"]["list"]]


@each_board
def test_the_file_is_what_the_code_makes(name):
    assert (FOLDER / f"{name}.json").read_text() == text(ALL[name]), "run `uv run python -m ops.grafana`"


@each_board
def test_every_query_asks_for_metrics_and_labels_that_exist(name):
    recorded = {
        rule["record"] for group in yaml.safe_load(rules())["groups"] for rule in group["rules"] if "record" in rule
    }
    for expression in expressions(name):
        assert unknown(expression) == set(), expression
        assert labels_unknown(expression) == set(), expression
        for word in expression.replace("(", " ").split():
            assert not word.startswith("leadwire:") or word in recorded, word


@each_board
def test_prometheus_accepts_every_query(name, tmp_path):
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed (Debian: prometheus)")
    records = [
        {"record": f"asked:{place}", "expr": expression.replace("$__rate_interval", "5m")}
        for place, expression in enumerate(expressions(name))
    ]
    path = tmp_path / "asked.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "asked", "rules": records}]}))
    told = subprocess.run(["promtool", "check", "rules", path], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert f"{len(records)} rules found" in told.stdout


@each_board
def test_panels_have_a_place_of_their_own_and_say_what_they_show(name):
    panels = json.loads(text(ALL[name]))["panels"]
    taken = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) < 24
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert all(panel["title"] and panel["description"] and panel["targets"] for panel in panels)
    assert all(target["datasource"]["uid"] == "${source}" for panel in panels for target in panel["targets"])


def test_the_alerts_that_panels_name_exist():
    names = {alert.name for alert in ALERTS}
    descriptions = [panel.description for board in ALL.values() for panel in board.panels]
    for alert in (line.rpartition("Alert: ")[2] for line in descriptions if "Alert: " in line):
        assert alert in names


def test_no_metric_is_there_for_nobody():
    """Each is in an alert or on a dashboard."""
    looked_at = asked(rules() + "".join(text(board) for board in ALL.values()))
    nobody = {family.exposed for family in series().values()} - {series()[name].exposed for name in looked_at}
    assert nobody == set()

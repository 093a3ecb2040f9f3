"""Every alert fires on what it is for and on nothing beside it, by Prometheus's own promtool."""

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from ops.prometheus.rules import ALERTS, text

from tests.ops.alert_cases import ALONE, CASES
from tests.ops.queries import labels_unknown, unknown

RULES = Path(__file__).parents[2] / "ops" / "prometheus" / "rules.yml"
PAGES = ("1h", "6h", "1d", "3d")  # the windows of a burn rate, while only some minutes are known all say the same


@pytest.fixture
def promtool():
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed (Debian: prometheus)")
    return lambda *arguments: subprocess.run(
        ["promtool", *arguments], capture_output=True, text=True, check=False, timeout=240
    )


def asked(path, alert, series, at, times):
    """One promtool test: the alert fires so many times, whatever else does."""
    counted = f'count(ALERTS{{alertname="Leadwire{alert}", alertstate="firing"}})'
    return {
        "name": alert,
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {"expr": counted, "eval_time": at, "exp_samples": [{"value": times, "labels": "{}"}] if times else []}
        ],
    }


def check(promtool, tmp_path, tests):
    (tmp_path / "rules.yml").write_text(RULES.read_text())
    (tmp_path / "asked.yml").write_text(
        yaml.safe_dump({"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": tests})
    )
    told = promtool("test", "rules", str(tmp_path / "asked.yml"))
    assert told.returncode == 0, told.stdout + told.stderr


def test_the_rules_are_what_the_code_makes():
    assert RULES.read_text() == text(), "run `uv run python -m ops.prometheus`"


def test_prometheus_accepts_the_rules_and_the_configuration(promtool):
    for arguments in (("rules", "--lint=all", "--lint-fatal", RULES), ("config", RULES.with_name("prometheus.yml"))):
        told = promtool("check", *map(str, arguments))
        assert told.returncode == 0, told.stdout + told.stderr


def test_every_alert_has_a_case():
    assert {alert.name for alert in ALERTS} == set(CASES)


def test_every_alert_fires_on_what_it_is_for(promtool, tmp_path):
    burning = {alert.name for alert in ALERTS if "window" in alert.labels}
    check(
        promtool,
        tmp_path,
        [
            asked(tmp_path, alert, series, at, len(PAGES) if alert in burning else 1)
            for alert, (series, at, _) in CASES.items()
        ],
    )


def test_every_alert_is_quiet_on_what_is_close_to_it(promtool, tmp_path):
    check(
        promtool,
        tmp_path,
        [
            asked(tmp_path, alert, {**series, **quiet} if alert not in ALONE else quiet, at, 0)
            for alert, (series, at, quiet) in CASES.items()
        ],
    )


def test_a_few_errors_at_night_wake_nobody(promtool, tmp_path):
    """A third of the requests fails, but that is four in an hour."""
    series = {
        'leadwire_http_requests_total{status="200"}': "0+0.1x70",
        'leadwire_http_requests_total{status="503"}': "0+0.05x70",
    }
    check(promtool, tmp_path, [asked(tmp_path, "ApiErrors", series, "65m", 0)])


def test_connections_that_are_refused_because_a_process_is_full_are_errors(promtool, tmp_path):
    series = {
        'leadwire_http_requests_total{status="200"}': "0+100x70",
        'leadwire_connections_refused_total{limit="process"}': "0+2x70",
    }
    check(promtool, tmp_path, [asked(tmp_path, "ApiErrors", series, "65m", len(PAGES))])


def test_an_alert_that_is_over_is_over_within_minutes(promtool, tmp_path):
    """The hour is still bad, the last five minutes are not."""
    series = {
        'leadwire_http_requests_total{status="200"}': "0+100x90",
        'leadwire_http_requests_total{status="503"}': "0+5x60 300x30",
    }
    fires = 'count(ALERTS{alertname="LeadwireApiErrors", window="1h", alertstate="firing"})'
    test = asked(tmp_path, "ApiErrors", series, "58m", 1)
    test["promql_expr_test"][0]["expr"] = fires
    test["promql_expr_test"].append({"expr": fires, "eval_time": "69m", "exp_samples": []})
    check(promtool, tmp_path, [test])


def test_what_an_alert_says_can_be_read(promtool, tmp_path):
    """promtool fills the templates in; a wrong one fails here."""
    test = {
        "interval": "1m",
        "input_series": [{"series": "leadwire_unrelayed_oldest_seconds", "values": "140x10"}],
        "alert_rule_test": [
            {
                "eval_time": "5m",
                "alertname": "LeadwireEventsUnrelayed",
                "exp_alerts": [
                    {
                        "exp_labels": {"severity": "page"},
                        "exp_annotations": {
                            "summary": "Committed events wait 2m 20s for the relay.",
                            "runbook_url": "https://leadwire.example/docs/events-unrelayed",
                        },
                    }
                ],
            }
        ],
    }
    check(promtool, tmp_path, [test])


def test_alerts_ask_only_for_metrics_and_labels_that_exist():
    assert unknown(RULES.read_text()) == set()
    for alert in ALERTS:
        assert labels_unknown(alert.expr) == set(), alert.name

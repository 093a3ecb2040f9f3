"""Every alert fires on what it is for and on nothing beside it, by Prometheus's own promtool."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from ops.prometheus.rules import ALERTS, text

import leadwire.processes  # noqa: F401 - knows every module that has a metric
from leadwire.telemetry import cells

RULES = Path(__file__).parents[2] / "ops" / "prometheus" / "rules.yml"
PAGES = ("1h", "6h", "1d", "3d")  # the windows of a burn rate, while only some minutes are known all say the same

# What makes each alert fire at some time, and a change of it that makes it quiet: the series by Prometheus's notation.
CASES = {
    "NothingKnown": ({}, "4m", {"leadwire_database_up": "1x20"}),
    "DatabaseDown": ({"leadwire_database_up": "1x4 0x20"}, "7m", {"leadwire_database_up": "1x20"}),
    "RedisDown": ({"leadwire_redis_up": "1x4 0x20"}, "7m", {"leadwire_redis_up": "1x4 0 1x20"}),
    "EventsUnrelayed": (
        {"leadwire_unrelayed_oldest_seconds": "0 20+60x20"},
        "4m",
        {"leadwire_unrelayed_oldest_seconds": "29x20"},
    ),
    "DeliveriesOverdue": (
        {'leadwire_waiting_overdue_oldest_seconds{held_by="nothing"}': "0+60x20"},
        "6m",
        {'leadwire_waiting_overdue_oldest_seconds{held_by="endpoint"}': "0+60x20"},
    ),
    "WorkersIdle": (
        {'leadwire_stream_length{shard="0"}': "3x20", 'leadwire_stream_length{shard="1"}': "0x20"},
        "6m",
        {'leadwire_delivery_attempts_total{outcome="timeout"}': "0+1x20"},
    ),
    "EntriesHeld": (
        {'leadwire_stream_pending_idle_seconds{shard="3"}': "0+60x20"},
        "6m",
        {'leadwire_stream_pending_idle_seconds{shard="3"}': "90x20"},
    ),
    "WorkersBehind": (
        {'leadwire_stream_oldest_seconds{shard="3"}': "0+60x20"},
        "10m",
        {'leadwire_stream_oldest_seconds{shard="3"}': "50x20"},
    ),
    "WorkerWedged": (
        {
            'leadwire_deliveries_in_hand{job="leadwire",instance="a"}': "5x20",
            'leadwire_delivery_attempts_total{job="leadwire",instance="a",outcome="delivered"}': "70x20",
            'leadwire_deliveries_in_hand{job="leadwire",instance="b"}': "5x20",
            'leadwire_delivery_attempts_total{job="leadwire",instance="b",outcome="delivered"}': "0+60x20",
        },
        "10m",
        {'leadwire_delivery_attempts_total{job="leadwire",instance="a",outcome="delivered"}': "0+1x20"},
    ),
    "EndpointBacklog": (
        {'leadwire_waiting_overdue_oldest_seconds{held_by="endpoint"}': "2000+60x20"},
        "12m",
        {'leadwire_waiting_overdue_oldest_seconds{held_by="endpoint"}': "600x20"},
    ),
    "LedgerImbalance": (
        {'leadwire_ledger_imbalance{check="queued_but_lost"}': "0 1x20"},
        "6m",
        {'leadwire_ledger_imbalance{check="queued_but_lost"}': "0 1 0x20"},
    ),
    "DeliverySetAside": ({"leadwire_deliveries_aside": "0 1x20"}, "2m", {"leadwire_deliveries_aside": "0x20"}),
    "DeadLettersRising": (
        {'leadwire_dead_letters_made_total{reason="timeout"}': "0+30x20"},
        "10m",
        {'leadwire_dead_letters_made_total{reason="timeout"}': "0+3x20"},
    ),
    "EndpointDisabled": (
        {'leadwire_endpoints_disabled_total{reason="gone"}': "0 0 1x20"},
        "4m",
        {'leadwire_endpoints_disabled_total{reason="gone"}': "7x20"},
    ),
    "EntriesReclaimed": (
        {"leadwire_stream_entries_reclaimed_total": "0+10x20", "leadwire_attempts_fenced_total": "0x20"},
        "10m",
        {"leadwire_stream_entries_reclaimed_total": "0 5x20"},
    ),
    "DeliveriesReconciled": (
        {"leadwire_deliveries_reconciled_total": "0 0 40x20"},
        "4m",
        {"leadwire_deliveries_reconciled_total": "40x20"},
    ),
    "PartitionsMissing": ({"leadwire_partitions_ahead": "2x200"}, "150m", {"leadwire_partitions_ahead": "7x200"}),
    "PartitionsOverdue": ({"leadwire_partitions_overdue": "5x400"}, "370m", {"leadwire_partitions_overdue": "1x400"}),
    "ProcessMissing": (
        {'leadwire_build_info{role="serve"}': "1x20", 'leadwire_build_info{role="relay"}': "1x20"},
        "4m",
        {'leadwire_build_info{role="deliver"}': "1x20"},
    ),
    "TargetDown": ({'up{job="leadwire",instance="a"}': "1 0x20"}, "8m", {'up{job="leadwire",instance="a"}': "1x20"}),
    "ProcessRestarting": (
        {'process_start_time_seconds{job="leadwire",instance="a"}': "1 2 3 4 5x20"},
        "10m",
        {'process_start_time_seconds{job="leadwire",instance="a"}': "1 2x20"},
    ),
    "LoopFailing": (
        {'leadwire_loop_failures_total{loop="relay"}': "0+12x20"},
        "15m",
        {'leadwire_loop_failures_total{loop="relay"}': "0 12x20"},
    ),
    "PoolExhausted": (
        {'leadwire_db_connections{job="leadwire",instance="a",state="awaited"}': "3x20"},
        "8m",
        {'leadwire_db_connections{job="leadwire",instance="a",state="awaited"}': "3 0 3 0 3 0 3 0 3"},
    ),
    "ApiSlow": (
        {
            'leadwire_http_request_duration_seconds_bucket{le="1.0"}': "0+90x30",
            'leadwire_http_request_duration_seconds_bucket{le="2.5"}': "0+100x30",
            'leadwire_http_request_duration_seconds_bucket{le="+Inf"}': "0+100x30",
            'leadwire_http_requests_total{status="200"}': "0+100x30",
        },
        "20m",
        {'leadwire_http_request_duration_seconds_bucket{le="1.0"}': "0+100x30"},
    ),
    "ApiErrors": (
        {
            'leadwire_http_requests_total{status="200"}': "0+100x70",
            'leadwire_http_requests_total{status="503"}': "0+2x70",
        },
        "65m",
        {'leadwire_http_requests_total{status="404"}': "0+90x70", 'leadwire_http_requests_total{status="503"}': "0x70"},
    ),
    "LateDispatches": (
        {
            "leadwire_dispatch_delay_seconds_count": "0+100x70",
            'leadwire_dispatch_delay_seconds_bucket{le="5.0"}': "0+80x70",
        },
        "65m",
        {
            # A customer's server that fails has its first POST in time.
            'leadwire_dispatch_delay_seconds_bucket{le="5.0"}': "0+100x70",
            'leadwire_delivery_attempts_total{outcome="http_5xx"}': "0+100x70",
        },
    ),
}

ALONE = {"DeliveriesOverdue"}  # whose quiet series does not go with the loud one


@pytest.fixture
def promtool():
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed (Debian: prometheus)")
    return lambda *arguments: subprocess.run(
        ["promtool", *arguments], capture_output=True, text=True, check=False, timeout=100
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
    burning = {alert.name for alert in ALERTS if alert.labels}
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
                            "runbook_url": "https://leadwire.example/ops/runbooks/events-unrelayed.md",
                        },
                    }
                ],
            }
        ],
    }
    check(promtool, tmp_path, [test])


def test_alerts_ask_only_for_metrics_that_exist():
    assert unknown(RULES.read_text()) == set()


def unknown(text):
    """The words that look like a metric of ours and are none."""
    there = {name for family in cells.known.values() for name in exposed(family)}
    return set(re.findall(r"\bleadwire_\w+", text)) - there


def exposed(family):
    """The names of its series."""
    return (
        [f"{family.name}_{end}" for end in ("bucket", "count", "sum")]
        if family.kind == "histogram"
        else [family.exposed]
    )

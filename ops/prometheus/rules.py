"""All rules, in the form that Prometheus reads."""

from typing import Any, Final

import yaml

from leadwire.delivery.monitoring.conditions import runbook
from ops.prometheus import alerts, objectives
from ops.prometheus.alerts import Alert

RUNBOOKS: Final = "https://leadwire.example/docs"
ALERTS: Final = [*objectives.alerts(), *alerts.CONDITIONS, *alerts.DELIVERY, *alerts.PROCESSES]


def text(runbooks: str = RUNBOOKS) -> str:
    """`rules.yml`."""
    groups = [
        {"name": "leadwire-objectives", "rules": objectives.recorded()},
        {"name": "leadwire-burn-rates", "rules": [_rule(one, runbooks) for one in objectives.alerts()]},
        {"name": "leadwire-conditions", "rules": [_rule(one, runbooks) for one in alerts.CONDITIONS]},
        {"name": "leadwire-delivery", "rules": [_rule(one, runbooks) for one in alerts.DELIVERY]},
        {"name": "leadwire-processes", "rules": [_rule(one, runbooks) for one in alerts.PROCESSES]},
    ]
    head = "# Made by `uv run python -m ops.prometheus`; change conditions.py, alerts.py or objectives.py instead.\n"
    return head + yaml.safe_dump({"groups": groups}, sort_keys=False, width=1000, allow_unicode=True)


def resource(runbooks: str = RUNBOOKS) -> str:
    """The same as a resource of the Prometheus Operator."""
    labels = {"app.kubernetes.io/name": "leadwire"}
    head = {"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule"}
    whole = {**head, "metadata": {"name": "leadwire", "labels": labels}, "spec": yaml.safe_load(text(runbooks))}
    return yaml.safe_dump(whole, sort_keys=False, width=1000, allow_unicode=True)


def _rule(alert: Alert, runbooks: str) -> dict[str, Any]:
    return {
        "alert": f"Leadwire{alert.name}",
        "expr": alert.expr,
        "for": alert.wait,
        "labels": {"severity": alert.severity, **alert.labels},
        "annotations": {"summary": alert.summary, "runbook_url": f"{runbooks}/{runbook(alert.name)}"},
    }

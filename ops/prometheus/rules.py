"""All rules, in the form that Prometheus reads."""

import re
from typing import Any, Final

import yaml

from ops.prometheus import alerts, objectives
from ops.prometheus.alerts import Alert

RUNBOOKS: Final = "https://leadwire.example/ops/runbooks"
ALERTS: Final = [*objectives.alerts(), *alerts.DELIVERY, *alerts.PROCESSES]


def runbook(name: str) -> str:
    """The file that says what to do about an alert: `RedisDown` is `redis-down.md`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower() + ".md"


def text(runbooks: str = RUNBOOKS) -> str:
    """`rules.yml`."""
    groups = [
        {"name": "leadwire-objectives", "rules": objectives.recorded()},
        {"name": "leadwire-burn-rates", "rules": [_rule(one, runbooks) for one in objectives.alerts()]},
        {"name": "leadwire-delivery", "rules": [_rule(one, runbooks) for one in alerts.DELIVERY]},
        {"name": "leadwire-processes", "rules": [_rule(one, runbooks) for one in alerts.PROCESSES]},
    ]
    head = "# Made by `uv run python -m ops.prometheus`; change alerts.py or objectives.py instead.\n"
    return head + yaml.safe_dump({"groups": groups}, sort_keys=False, width=1000, allow_unicode=True)


def _rule(alert: Alert, runbooks: str) -> dict[str, Any]:
    return {
        "alert": f"Leadwire{alert.name}",
        "expr": alert.expr,
        "for": alert.wait,
        "labels": {"severity": alert.severity, **alert.labels},
        "annotations": {"summary": alert.summary, "runbook_url": f"{runbooks}/{runbook(alert.name)}"},
    }

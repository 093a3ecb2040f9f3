"""Which metrics and labels of ours a PromQL text asks for, and whether there are such."""

import re

from tests.catalog import Family, known

_BESIDES = {"le", "job", "instance", "window", "alertname", "alertstate"}


def asked(text: str) -> set[str]:
    """The names that look like a metric of ours, as they are exposed."""
    return set(re.findall(r"\bleadwire_\w+", text))


def unknown(text: str) -> set[str]:
    """Those of them that nothing exposes."""
    return asked(text) - set(series())


def labels_unknown(expression: str) -> set[str]:
    """The labels that an expression selects or groups by, and that none of its metrics has."""
    used = {
        label.strip() for group in re.findall(r"\b(?:by|without) \(([^)]+)\)", expression) for label in group.split(",")
    }
    used |= set(re.findall(r"[{,] ?(\w+) ?=~?\"", expression))
    there = series()
    return used - _BESIDES - {label for name in asked(expression) for label in there[name].labels}


def series() -> dict[str, Family]:
    """Every name that can be asked for."""
    ends = ("bucket", "count", "sum")
    return {
        name: family
        for family in known.values()
        for name in ([f"{family.name}_{end}" for end in ends] if family.kind == "histogram" else [family.exposed])
    }

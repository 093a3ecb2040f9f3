"""ops/README.md lists every metric there is, and no other."""

import re
from pathlib import Path

from tests.catalog import known

README = Path(__file__).parents[3] / "ops" / "README.md"
LINE = re.compile(r"^\| `(leadwire_\w+)` \| (\w+) \| (.*?) ?\| (.+) \|$", re.MULTILINE)


def test_the_catalog_has_a_line_for_every_metric_and_no_other():
    listed = {name: (kind, tuple(re.findall(r"`(\w+)`", labels))) for name, kind, labels, _ in found()}
    assert listed == {name: (family.kind, family.labels) for name, family in known.items()}


def test_no_metric_is_listed_twice():
    names = [name for name, *_ in found()]
    assert len(names) == len(set(names))


def test_names_follow_prometheus():
    bases = [family.name for family in known.values()]
    assert len(bases) == len(set(bases))  # OpenMetrics knows a counter by its name without `_total`
    for name, family in known.items():
        assert re.fullmatch(r"leadwire_[a-z][a-z_]*[a-z]", name)
        assert name.endswith("_total") == (family.kind == "counter"), name
        assert not any(word in name for word in ("milli", "_ms", "minutes")), name
        assert not {"workspace", "endpoint", "event", "id"} & set(family.labels), name


def found():
    return LINE.findall(README.read_text())

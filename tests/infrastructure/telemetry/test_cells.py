"""What is counted is what is scraped, and labels cannot grow without an end."""

import pytest
from prometheus_client.parser import text_string_to_metric_families as parsed

from leadwire.infrastructure.telemetry import metrics, process
from leadwire.infrastructure.telemetry.metrics import Counter, Gauge, Histogram


@pytest.fixture(autouse=True)
def _none_left_behind(monkeypatch):
    monkeypatch.setattr(metrics, "known", dict(metrics.known))


def samples(name):
    """Every value of a metric, by what is after its name and by its labels' values."""
    return {
        (sample.name.removeprefix(name), *sample.labels.values()): sample.value
        for family in parsed(process.exposition().decode())
        for sample in family.samples
        if sample.name.startswith(name)
    }


def test_a_counter_shows_its_known_labels_before_they_are_counted():
    counter = Counter("tested_things", "Things.", "color", values=("red", "blue"))
    counter.cell("red").add()
    counter.cell("red").add(2)
    assert samples("leadwire_tested_things") == {("_total", "red"): 3, ("_total", "blue"): 0}


def test_a_histogram_counts_up_to_and_including_each_bound():
    histogram = Histogram("tested_seconds", "Times.", bounds=(0.1, 1))
    for value in (0.1, 0.5, 1, 7):
        histogram.cell().observe(value)
    assert samples("leadwire_tested_seconds") == {
        ("_bucket", "0.1"): 1,
        ("_bucket", "1.0"): 3,
        ("_bucket", "+Inf"): 4,
        ("_count",): 4,
        ("_sum",): pytest.approx(8.6),
    }


def test_a_gauge_is_absent_until_somebody_knows_and_after_nobody_does():
    gauge = Gauge("tested_depth", "Depth.", "shard")
    assert samples("leadwire_tested_depth") == {}
    gauge.show_all({("0",): 4, ("1",): 5})
    assert samples("leadwire_tested_depth") == {("", "0"): 4, ("", "1"): 5}
    gauge.show_all({("1",): 6})
    assert samples("leadwire_tested_depth") == {("", "1"): 6}
    gauge.clear()
    assert samples("leadwire_tested_depth") == {}


def test_the_combinations_of_labels_have_an_end(monkeypatch):
    monkeypatch.setattr(metrics, "_MOST", 3)
    counter = Counter("tested_floods", "Floods.", "word")
    for number in range(100):
        counter.cell(str(number)).add()
    counted = samples("leadwire_tested_floods")
    assert len(counted) == 4
    assert counted[("_total", "other")] == 97


def test_two_metrics_cannot_have_one_name():
    Counter("tested_twice", "Once.")
    with pytest.raises(ValueError, match="leadwire_tested_twice_total"):
        Counter("tested_twice", "Again.")


def test_every_process_says_what_it_is_and_what_it_costs():
    process.begin("relay")
    assert ["relay" in labels for labels in samples("leadwire_build_info")] == [True]
    assert samples("process_resident_memory_bytes")[("",)] > 1e6

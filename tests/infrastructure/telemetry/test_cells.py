"""What is counted is what is scraped."""

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families as parsed

from leadwire.infrastructure.telemetry.metrics import REGISTRY, Gauge, counter, histogram


@pytest.fixture(autouse=True)
def _none_left_behind():
    before = set(REGISTRY._collector_to_names)
    yield
    for made in set(REGISTRY._collector_to_names) - before:
        REGISTRY.unregister(made)


def samples(name):
    """Every value of a metric, by what is after its name and by its labels' values."""
    return {
        (sample.name.removeprefix(name), *sample.labels.values()): sample.value
        for family in parsed(generate_latest(REGISTRY).decode())
        for sample in family.samples
        if sample.name.startswith(name)
    }


def test_a_counter_shows_its_known_labels_before_they_are_counted():
    things = counter("tested_things", "Things.", "color", values=("red", "blue"))
    things.labels("red").inc()
    things.labels("red").inc(2)
    assert samples("leadwire_tested_things") == {("_total", "red"): 3, ("_total", "blue"): 0}


def test_a_histogram_counts_up_to_and_including_each_bound():
    seconds = histogram("tested_seconds", "Times.", bounds=(0.1, 1))
    for value in (0.1, 0.5, 1, 7):
        seconds.observe(value)
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
    gauge.show_all({})
    assert samples("leadwire_tested_depth") == {}


def test_two_metrics_cannot_have_one_name():
    counter("tested_twice", "Once.")
    with pytest.raises(ValueError, match="leadwire_tested_twice_total"):
        counter("tested_twice", "Again.")
    Gauge("tested_depth", "Once.")
    with pytest.raises(ValueError, match="leadwire_tested_depth"):
        Gauge("tested_depth", "Again.")


def test_there_is_no_series_of_the_time_a_counter_was_made():
    counter("tested_plain", "Plain.").inc()
    assert samples("leadwire_tested_plain") == {("_total",): 1}


def test_every_process_says_what_it_costs():
    assert samples("process_resident_memory_bytes")[("",)] > 1e6

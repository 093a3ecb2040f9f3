"""What a process tells on its telemetry port."""

import re

from prometheus_client.parser import text_string_to_metric_families as parsed


def address(process):
    """Where its telemetry port is, by its log."""
    return re.search(r'"telemetry":"(http://[^"]+)"', process.err).group(1)


async def scraped(ask, process):
    """Every sample of a process: (name, labels) and value."""
    answer = await ask(f"{address(process)}/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in parsed(answer.text)
        for sample in family.samples
    }

"""The sums of ops/sizing.md are right, and its commands exist."""

import re
from pathlib import Path

import msgspec
from ops.bench.delivery.parts import PARTS

from leadwire.infrastructure.settings import Settings

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ops" / "sizing.md").read_text()


def number(text: str) -> float:
    return float(text.replace(",", ""))


def test_products_are_what_they_say() -> None:
    """Such as `10,000 x 333 us = 3.3 cores`."""
    units = {"us": 1e-6, "ms": 1e-3, "kB": 1e3}
    found = re.findall(r"([\d,]+) x ([\d.,]+) (us|ms|kB) = ([\d.]+) (core|MB/s)", TEXT)
    assert len(found) >= 5
    for times, each, unit, result, of in found:
        made = number(times) * number(each) * units[unit] / (1e6 if of == "MB/s" else 1)
        assert abs(made - number(result)) <= 0.05 * number(result), (times, each, unit, result)


def test_what_an_event_costs_is_the_sum_of_its_parts() -> None:
    table = TEXT.split("## What one event costs")[1].split("\n\n")[1]
    rows = [[cell.strip(" *") for cell in row.split("|")[2:5]] for row in table.splitlines()[2:]]
    parts, together = rows[:-1], rows[-1]
    assert abs(sum(float(row[0].split()[0]) for row in parts) / 1000 - float(together[0].split()[0])) < 0.01
    for column in (1, 2):
        assert (
            abs(sum(float(row[column].split()[0]) for row in parts if row[column]) - float(together[column].split()[0]))
            < 0.05
        )


def test_commands_and_settings_exist_and_the_drawing_is_there() -> None:
    assert set(re.findall(r"--only (\w+)", TEXT)) <= set(PARTS)
    settings = {field.name.upper() for field in msgspec.structs.fields(Settings)}
    assert set(re.findall(r"`([A-Z_]{6,})(?:=\d+)?`", TEXT)) <= settings
    drawing = re.search(r"!\[[^\]]+\]\((.+)\)", TEXT)
    assert drawing
    assert (ROOT / "ops" / drawing[1]).read_text().startswith("<svg")

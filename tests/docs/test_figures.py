"""Figures in the documents are those of the settings."""

import re
from pathlib import Path

import msgspec
import pytest

from leadwire.infrastructure.settings import Settings

ROOT = Path(__file__).parents[2]
DOCS = sorted([*(ROOT / "src/leadwire/docs").glob("*.md"), *ROOT.glob("ops/**/*.md"), ROOT / "README.md"])
NAMED = re.compile(r"`LEADWIRE_(\w+)` \((\d[\d.,]*)")
DAYS = re.compile(r"[Ee]vents[^.|]{0,60}kept for (\d+) days")
DEFAULTS = {field.name.upper(): field.default for field in msgspec.structs.fields(Settings)}


def written(value) -> str:
    """A default as settings.md writes it; empty where it has words instead."""
    if isinstance(value, tuple) and value and all(isinstance(part, int) for part in value):
        return ",".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value) if isinstance(value, int) else ""


def test_the_table_of_settings_has_their_defaults():
    rows = re.findall(
        r"^\| `([A-Z_]+)` \| (.+?) \|", (ROOT / "src/leadwire/docs/settings.md").read_text(), re.MULTILINE
    )
    told = {name: default.strip("`").replace(",", "") for name, default in rows}
    wrong = {
        name: (told[name], default)
        for name, value in DEFAULTS.items()
        if name in told and (default := written(value).replace(",", "")) and told[name] != default
    }
    assert wrong == {}


@pytest.mark.parametrize("path", DOCS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_names_a_setting_with_its_default(path):
    text = path.read_text()
    for name, figure in NAMED.findall(text):
        assert figure.rstrip(".,").replace(",", "") == written(DEFAULTS[name]).replace(",", ""), name
    assert set(DAYS.findall(text)) <= {str(DEFAULTS["RETENTION_DAYS"])}

"""Figures in the documents are those of the settings."""

import re
from pathlib import Path

import msgspec

from leadwire.delivery.endpoints.table import LARGEST_WINDOW
from leadwire.delivery.worker import slots
from leadwire.delivery.worker.health import FAILING_ATTEMPTS, FAILING_DAYS
from leadwire.domain.exports.changes import LASTS, MOST_OPEN
from leadwire.domain.feed.reads import MOST_WAITING
from leadwire.domain.leads.schema import MAX_CUSTOM_BYTES, MAX_CUSTOM_FIELDS
from leadwire.domain.search import documents, jobs, query
from leadwire.domain.search import reads as search
from leadwire.domain.webhooks.reads import MOST_NUMBERS
from leadwire.infrastructure.idempotency_store import KEPT
from leadwire.infrastructure.rate_limit import BURST
from leadwire.infrastructure.settings import LARGEST_WEBHOOK, Settings
from leadwire.interfaces.v1.authentication import FAILURES_A_MINUTE, ROWS
from leadwire.interfaces.v1.exports import MOST_AT_ONCE

ROOT = Path(__file__).parents[2]
DOCS = sorted([*(ROOT / "src/leadwire/docs").rglob("*.md"), *ROOT.glob("ops/**/*.md"), ROOT / "README.md"])
NAMED = re.compile(r"`(?:LEADWIRE_)?([A-Z_]{5,})`(?: \(|, )(\d[\d.,]*)")  # the setting, then its default
NAMED_AFTER = re.compile(r"(\d[\d,]*)\s[^.,|;:`()]{1,60}\(`(?:LEADWIRE_)?([A-Z_]{5,})`")
DAYS = re.compile(r"[Ee]vents[^.|]{0,60}kept for (\d+) days")
DEFAULT = Settings()
*FIRST, LAST = (f"{seconds / 60:g}" for seconds in DEFAULT.retry_schedule)
RETRIES = f"{', '.join(FIRST)} and {LAST} minutes"
SECONDS = f"{DEFAULT.delivery_timeout:g}"
LEASE = f"lease ({DEFAULT.lease:g} s)"
QUOTED = {
    "README.md": (f"tried again after {RETRIES}",),
    "src/leadwire/docs/api.md": (
        f"{DEFAULT.rate_limit:,} requests a minute per key", f"{BURST} of them at once", f"every {ROWS:,} rows",
        f"{FAILURES_A_MINUTE} a minute per address", f"more than {search.FEW:,} leads", f"or more than {query.MOST};",
        f"at most {MAX_CUSTOM_FIELDS}, names", f"{MAX_CUSTOM_BYTES:,} bytes in all",
        f"for {KEPT.total_seconds() / 3600:g} hours the same key", f"{MOST_OPEN} exports", f"{MOST_AT_ONCE} downloads",
        f"An export lasts {LASTS.total_seconds() / 3600:g} hours",
    ),
    "src/leadwire/interfaces/v1/events.py": (f"at most {MOST_WAITING} requests",),  # of the reference
    "src/leadwire/domain/listing/queries.py": (f"more than {search.FEW:,} have", f"Every {ROWS:,} rows"),
    "src/leadwire/docs/concepts.md": (f"has {SECONDS} seconds to answer", f"follow in {RETRIES}"),
    "src/leadwire/docs/go-live.md": (f"After {SECONDS} seconds", f"up to {LARGEST_WEBHOOK // 1024} KiB"),
    "src/leadwire/docs/receiving-webhooks.md": (
        f"at most {LARGEST_WEBHOOK:,} bytes", f"2xx within {SECONDS}", f"retried after {RETRIES}",
        f"({sum(DEFAULT.retry_schedule) // 60} minutes, plus", f"again after {RETRIES}", f"`seconds` ({SECONDS})",
        f"by default {len(DEFAULT.retry_schedule) + 1} is the last", f"at most {MOST_NUMBERS:,} at once",
        f"for {FAILING_DAYS} days and {FAILING_ATTEMPTS} attempts", f"At most {LARGEST_WINDOW} are",
    ),
    "src/leadwire/docs/replay.md": (f"after {RETRIES}",),
    "src/leadwire/docs/settings.md": (f"and {slots.SLOW_FACTOR} times as many",),
    "src/leadwire/docs/upgrade.md": (f"most {jobs.MOST:,} a second",),
    "src/leadwire/docs/web-area.md": (f"first {documents.LONGEST:,} characters",),
    "ops/sizing.md": (
        f"{slots.SLOW_FACTOR} times as many that take longer", f"3 x {DEFAULT.delivery_concurrency} / 10,000",
        f"10,000 x 1 / {DEFAULT.delivery_concurrency})", f"/ {DEFAULT.delivery_concurrency * slots.SLOW_FACTOR:,})",
        f"per attempt, {len(DEFAULT.retry_schedule) + 1} at most", f"at most {LARGEST_WINDOW} entries per endpoint",
    ),
    "src/leadwire/docs/runbooks/entries-held.md": (LEASE,),
    "src/leadwire/docs/runbooks/worker-wedged.md": (LEASE, f"timeout of {SECONDS} s"),
}  # fmt: skip
"""Figures that are not beside the name of a setting, in their sentences."""
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


def test_a_page_names_a_setting_with_its_default():
    for path in DOCS:
        text = path.read_text()
        for name, figure in [*NAMED.findall(text), *(pair[::-1] for pair in NAMED_AFTER.findall(text))]:
            assert figure.rstrip(".,").replace(",", "") == written(DEFAULTS[name]).replace(",", ""), (path, name)
        assert set(DAYS.findall(text)) <= {str(DEFAULTS["RETENTION_DAYS"])}, path


def test_a_page_says_what_holds():
    texts = {path: " ".join((ROOT / path).read_text().split()) for path in QUOTED}
    assert [(path, phrase) for path, phrases in QUOTED.items() for phrase in phrases if phrase not in texts[path]] == []


def test_every_version_of_the_changelog_has_a_date():
    headings = re.findall(r"^## .*", (ROOT / "src/leadwire/docs/changelog.md").read_text(), re.MULTILINE)
    assert headings
    assert all(re.search(r"20\d\d-\d\d-\d\d", heading) for heading in headings)

"""Migrations that are on the main branch stay as they are: somebody's database was made by them."""

import hashlib
from pathlib import Path

ROOT = Path(__file__).parents[2]
HASHES = Path(__file__).with_name("migrations.sha256")


def test_no_migration_that_is_recorded_is_changed_or_removed_and_each_is_recorded() -> None:
    recorded = {name: digest for digest, name in map(str.split, HASHES.read_text().splitlines())}
    present = {
        str(path.relative_to(ROOT)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((ROOT / "migrations").glob("[0-9]*.py"))
    }
    changed = [name for name, digest in recorded.items() if present.get(name) != digest]
    assert not changed, f"{changed}: databases were made by it. Take it back as it was, and add a migration instead"
    missing = present.keys() - recorded.keys()
    assert not missing, f"record it: sha256sum {' '.join(sorted(missing))} >> {HASHES.relative_to(ROOT)}"

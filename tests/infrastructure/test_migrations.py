"""Migrations stay as they are, since somebody's database was made by them, and stop no changes of large tables."""

import hashlib
from pathlib import Path

import pytest

from leadwire.infrastructure.db import plan

ROOT = Path(__file__).parents[2]
SMALL = {"workspace", "user_account", "bot", "webhook_endpoint", "epoch", "bulk_change"}
"""Tables that do not grow with use, or hardly: they are read in a moment."""
STOPPING = {
    ("2026-11-22T11:25:23:000000", "DO $$ DECLARE day regclass"),  # drops a constraint of each partition
    ("2026-11-23T03:00:00:000000", "WITH doubled AS ( DELETE F"),  # of some deliveries that a bug had left
}
"""Steps of before there was this test. None is added."""
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


async def test_no_step_stops_changes_of_a_table_that_grows() -> None:
    stopping = {
        (migration, step.statement[:26])
        for migration, (_, script) in (await plan.scripts()).items()
        for step in plan.effects(script)
        if step.stops and step.reads - SMALL
    }
    assert stopping == STOPPING, "CONTRIBUTING, under Migrations, says what to do instead"


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE lead ADD CONSTRAINT lead_score CHECK (score < 9)",
        "ALTER TABLE lead ADD COLUMN a int, ADD FOREIGN KEY (a) REFERENCES bot",
        "ALTER TABLE lead ADD COLUMN a int CHECK (a > 0)",
        "ALTER TABLE lead ADD COLUMN a uuid DEFAULT gen_random_uuid()",
        "ALTER TABLE lead ALTER COLUMN score SET NOT NULL",
        "ALTER TABLE lead ALTER COLUMN score TYPE int",
        "UPDATE lead SET score = 0",
        "WITH old AS (DELETE FROM lead RETURNING id) INSERT INTO bot SELECT id FROM old",
        "DO $$ BEGIN UPDATE lead SET score = 0; END $$",
    ],
)
def test_what_reads_all_rows_under_a_lock_is_known(statement: str) -> None:
    (step,) = plan.effects(statement)
    assert step.stops
    assert "lead" in step.reads


@pytest.mark.parametrize(
    ("statement", "locks", "reads"),
    [
        ("ALTER TABLE lead ADD COLUMN a text NOT NULL DEFAULT ''", {"lead"}, set()),
        ("ALTER TABLE lead ADD COLUMN a timestamptz DEFAULT now()", {"lead"}, set()),
        ("ALTER TABLE lead ALTER COLUMN a SET DEFAULT gen_random_uuid()", {"lead"}, set()),
        ("ALTER TABLE lead ADD CONSTRAINT c CHECK (a > 0) NOT VALID", {"lead"}, set()),
        ("ALTER TABLE lead VALIDATE CONSTRAINT c", set(), {"lead"}),
        ("CREATE UNIQUE INDEX i ON lead (a)", set(), {"lead"}),
        ("CREATE TRIGGER t AFTER UPDATE OF a ON lead FOR EACH ROW EXECUTE FUNCTION f()", {"lead"}, set()),
        ("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ DELETE FROM lead $$", set(), set()),
        ("DO $$ BEGIN DELETE FROM lead; COMMIT; END $$", set(), {"lead"}),
    ],
)
def test_what_lets_changes_go_on_is_known(statement: str, locks: set[str], reads: set[str]) -> None:
    (step,) = plan.effects(statement)
    assert (step.locks, step.reads, step.stops, step.copies) == (locks, reads, False, "COMMIT" in statement)

"""The layout holds: files stay small, tables match the migrations, import contracts are kept."""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import get_args

import msgspec
from jinja2 import nodes

from leadwire.delivery.table import Delivery, DeliveryResult, EveryDelivery
from leadwire.domain.bots.flow.nodes import Op
from leadwire.infrastructure import db
from leadwire.infrastructure.settings import Settings
from leadwire.interfaces.web import rendering
from leadwire.processes.piccolo_app import TABLES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "src" / "leadwire" / "docs"
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def test_no_file_is_longer_than_250_lines():
    assert len(SOURCES) > 400
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in SOURCES}
    assert {path: many for path, many in lines.items() if many > 250} == {}


def test_the_import_contracts_hold():
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    result = subprocess.run(
        [sys.executable, "-c", command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout


async def test_a_table_is_what_the_migrations_make(database):
    columns = defaultdict(dict)
    for table, column, nullable in await db.rows(
        """SELECT table_name, column_name, is_nullable = 'YES' FROM information_schema.columns
           WHERE table_schema = 'public'"""
    ):
        columns[table][column] = nullable
    for table in TABLES:
        made = columns[table._meta.tablename]
        declared = {column._meta.db_column_name: bool(column._meta.null) for column in table._meta.columns}
        if table is EveryDelivery:  # PostgreSQL does not say what may be null in a view: the tables below it do
            made = {name: any(_may_be_null(below, name) for below in (Delivery, DeliveryResult)) for name in made}
        assert made == declared, table._meta.tablename


def _may_be_null(table, name):
    """In the view, where a column that a table does not have is null. `due_at` of what has ended is when it did."""
    columns = {column._meta.db_column_name: bool(column._meta.null) for column in table._meta.columns}
    return columns.get("finished_at" if name == "due_at" and table is DeliveryResult else name, True)


def test_every_setting_is_documented():
    table = (DOCS / "settings.md").read_text()
    for field in msgspec.structs.fields(Settings):
        assert f"`{field.name.upper()}`" in table, field.name


def test_every_operator_of_a_condition_is_documented():
    assert f"`{' '.join(get_args(Op))}`" in (DOCS / "bots.md").read_text()


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_the_readmes_first_commands_are_the_promised_ones():
    readme = (ROOT / "README.md").read_text()
    commands = re.findall(r"```sh\n(.+?)\n```", readme, re.DOTALL)
    assert commands[:2] == ["pip install uv && uv run leadwire up", "pip install uv && uv run pytest"]
    assert commands[1] in (ROOT / ".ci" / "run").read_text()


def test_every_change_takes_the_workspace_first():
    domain = ROOT / "src" / "leadwire" / "domain"
    for path in (
        *domain.glob("*/changes.py"),
        *domain.glob("*/changes/__init__.py"),
        *domain.glob("conversations/changes/*.py"),
        *domain.glob("privacy/erasure.py"),
    ):
        package = path.relative_to(domain).parts[0]
        for name, first in re.findall(r"^async def ([a-z]\w*)\(\s*(\w+)", path.read_text(), re.MULTILINE):
            if name not in ("create_workspace", "note_use") and (package, name) != ("workspaces", "create"):
                assert first == "workspace", f"{package}.{name}"


def test_every_migration_has_an_id_of_its_own():
    """Of two with the same id, one would silently never run."""
    ids = [re.search(r'^ID = "(.+)"$', path.read_text(), re.MULTILINE)[1] for path in Path("migrations").glob("*.py")]
    assert len(set(ids)) == len(ids)


def test_a_template_asks_what_is_defined_of_what_templates_set_only():
    """What a screen gives is there or an error: else a screen that names it anew loses it without a word."""
    folder = ROOT / "src" / "leadwire"
    texts = {path: path.read_text() for path in folder.rglob("templates/**/*.html")}
    trees = {path: rendering.environment().parse(text) for path, text in texts.items()}
    sets = [one for tree in trees.values() for one in tree.find_all((nodes.Assign, nodes.AssignBlock))]
    stored = {name.name for one in sets for name in one.find_all(nodes.Name) if name.ctx == "store"}
    asked = {
        (str(path.relative_to(folder)), test.node.name)
        for path, tree in trees.items()
        for test in tree.find_all(nodes.Test)
        if test.name in ("defined", "undefined") and isinstance(test.node, nodes.Name)
    }
    assert asked, "no template asks"
    assert {(path, name) for path, name in asked if name not in stored | {"caller"}} == set()

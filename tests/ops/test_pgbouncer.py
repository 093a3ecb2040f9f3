"""Leadwire behind PgBouncer, as ops/deploy/README.md says it must be set up. Only where there is one."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from leadwire_development.embedded import Services
from tests.flows.commands import free_port, refused, run
from tests.ops import connects
from tests.waiting import until

README = Path(__file__).parents[2] / "ops" / "deploy" / "README.md"
IGNORED = re.findall(r"`ignore_startup_parameters = ([a-z_,]+)`", README.read_text())[0]
PREPARED = "max_prepared_statements = {}\n"


def version() -> tuple[int, ...]:
    """That of the machine's PgBouncer; empty where there is none."""
    if shutil.which("pgbouncer") is None:
        return ()
    told = subprocess.run(["pgbouncer", "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.findall(r"\d+", told)[:2]))


KEEPS = version() >= (1, 21)

pytestmark = [
    pytest.mark.flow,
    pytest.mark.skipif(not version(), reason="no PgBouncer here"),
    pytest.mark.usefixtures("database"),  # the ledger has to balance
]


@pytest.fixture
def behind(servers: Services) -> Iterator[Callable[..., dict[str, str]]]:
    """Start one with a pool mode and ignored parameters; the settings that lead through it."""
    started: list[subprocess.Popen[bytes]] = []
    place = Path(servers.database_url.partition("host=")[2].partition("&")[0])
    files = Path(tempfile.mkdtemp(prefix="leadwire-pgbouncer-"))
    files.chmod(0o755)  # as root it runs as the owner of the database's directory

    def start(mode: str, ignored: str, more: str = "") -> dict[str, str]:
        port = free_port()
        file = files / f"{port}.ini"
        file.write_text(
            f"[databases]\nleadwire = host={place} port=5432 user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = {mode}\n"
            f"ignore_startup_parameters = {ignored}\n{more}"
        )
        user = ["-u", place.owner()] if os.getuid() == 0 else []
        started.append(subprocess.Popen(["pgbouncer", "-q", *user, str(file)], stderr=subprocess.DEVNULL))
        until(lambda: connects(port))
        url = f"postgresql://postgres@127.0.0.1:{port}/leadwire"
        return {"DATABASE_URL": url, "REDIS_URL": servers.redis_url, "SECRET_KEY": "A" * 43 + "="}

    yield start
    for one in started:
        one.terminate()
        one.wait(120)
    shutil.rmtree(files)


def test_a_session_pool_that_ignores_what_the_readme_names_works(behind: Callable[..., dict[str, str]]) -> None:
    settings = behind("session", IGNORED)
    assert run("migrate", **settings).stdout == "nothing to do\n"
    findings = {one["about"]: one for one in json.loads(run("doctor", "--json", **settings).stdout)["findings"]}
    assert "one between us" in findings["connection pooler"]["says"]
    assert run("ledger", **settings).returncode == 0


@pytest.mark.parametrize(
    ("mode", "more", "says"),
    [
        ("statement", "", "one in statement mode, where nothing can be changed"),
        ("transaction", PREPARED.format(0) if KEEPS else "", "one that loses prepared statements"),
        pytest.param(
            "transaction",
            PREPARED.format(256),
            "one between us and the server",
            marks=pytest.mark.skipif(not KEEPS, reason="this PgBouncer keeps no prepared statements"),
        ),
    ],
)
def test_doctor_says_whether_the_mode_is_of_use(
    behind: Callable[..., dict[str, str]], mode: str, more: str, says: str
) -> None:
    result = run("doctor", "--json", **behind(mode, IGNORED, more))
    (found,) = [one for one in json.loads(result.stdout)["findings"] if one["about"] == "connection pooler"]
    assert (found["says"], found["level"]) == (says, "ok" if "256" in more else "error")
    assert result.returncode == 1
    assert ("max_prepared_statements" in found["fix"]) == (found["level"] == "error")


def test_one_that_refuses_our_parameters_is_told_in_a_line(behind: Callable[..., dict[str, str]]) -> None:
    assert "unsupported startup parameter" in refused(run("status", **behind("session", "")))

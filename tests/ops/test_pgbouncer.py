"""Leadwire behind PgBouncer, as ops/deploy/README.md says it must be set up. Only where there is one."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from leadwire.development.embedded import Services
from tests.flows.commands import free_port, refused, run
from tests.ops import connects
from tests.waiting import until

README = Path(__file__).parents[2] / "ops" / "deploy" / "README.md"
IGNORED = "jit,plan_cache_mode,max_parallel_workers_per_gather,idle_in_transaction_session_timeout"

pytestmark = [
    pytest.mark.flow,
    pytest.mark.skipif(shutil.which("pgbouncer") is None, reason="no PgBouncer here"),
    pytest.mark.usefixtures("connected"),
]


@pytest.fixture
def behind(servers: Services) -> Iterator[Callable[[str, str], dict[str, str]]]:
    """Start one with a pool mode and ignored parameters; the settings that lead through it."""
    started: list[subprocess.Popen[bytes]] = []
    place = Path(servers.database_url.partition("host=")[2].partition("&")[0])
    files = Path(tempfile.mkdtemp(prefix="leadwire-pgbouncer-"))
    files.chmod(0o755)  # as root it runs as the owner of the database's directory

    def start(mode: str, ignored: str) -> dict[str, str]:
        port = free_port()
        file = files / f"{port}.ini"
        file.write_text(
            f"[databases]\nleadwire = host={place} port=5432 user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = {mode}\n"
            f"ignore_startup_parameters = {ignored}\n"
        )
        user = ["-u", place.owner()] if os.getuid() == 0 else []
        started.append(subprocess.Popen(["pgbouncer", "-q", *user, str(file)], stderr=subprocess.DEVNULL))
        until(lambda: connects(port))
        url = f"postgresql://postgres@127.0.0.1:{port}/leadwire"
        return {"DATABASE_URL": url, "REDIS_URL": servers.redis_url, "SECRET_KEY": "A" * 43 + "="}

    yield start
    for one in started:
        one.terminate()
        one.wait(10)
    shutil.rmtree(files)


def test_a_session_pool_that_ignores_what_the_readme_names_works(behind: Callable[[str, str], dict[str, str]]) -> None:
    assert f"`ignore_startup_parameters = {IGNORED}`" in README.read_text()
    settings = behind("session", IGNORED)
    assert run("migrate", **settings).stdout == "nothing to do\n"
    findings = {one["about"]: one for one in json.loads(run("doctor", "--json", **settings).stdout)["findings"]}
    assert "one between us" in findings["connection pooler"]["says"]
    assert run("ledger", **settings).returncode == 0


def test_one_that_refuses_our_parameters_is_told_in_a_line(behind: Callable[[str, str], dict[str, str]]) -> None:
    assert "unsupported startup parameter" in refused(run("status", **behind("session", "")))

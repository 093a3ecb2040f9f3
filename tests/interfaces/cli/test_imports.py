"""`leadwire --help` and completion load every command's module: none of them may load what only its work needs."""

import subprocess
import sys

import pytest

HEAVY = {"asyncpg", "cryptography", "email_validator", "httpx", "litestar", "phonenumbers", "piccolo", "redis", "rich"}


def loaded(code: str) -> set[str]:
    """The top packages that a process has after it."""
    code = f"import sys\n{code}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_no_command_loads_a_heavy_library_to_explain_itself() -> None:
    code = (
        "import click\n"
        "from leadwire.__main__ import cli\n"
        "context = click.Context(cli)\n"
        "for name in cli.list_commands(context): cli.get_command(context, name)"
    )
    packages = loaded(code)
    assert "leadwire" in packages
    assert HEAVY.isdisjoint(packages)


def test_doctor_loads_no_web_framework_and_no_http_client() -> None:
    """They are a third of what it would load, in the minute in which it is needed most."""
    packages = loaded("import leadwire.interfaces.cli.checks")
    assert "asyncpg" in packages
    assert {"litestar", "httpx", "uvicorn"}.isdisjoint(packages)


@pytest.mark.parametrize("process", ["serve", "relay", "deliver", "background"])
def test_no_process_loads_what_formats_code(process: str) -> None:
    """`piccolo.conf.apps` does, for 0.1 s of each start."""
    packages = loaded(f"import leadwire.processes.{process}")
    assert "piccolo" in packages
    assert "black" not in packages

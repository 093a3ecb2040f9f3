"""`leadwire --help` and completion load every command's module: none of them may load what only its work needs."""

import subprocess
import sys

HEAVY = {"asyncpg", "cryptography", "email_validator", "httpx", "litestar", "phonenumbers", "piccolo", "redis", "rich"}


def test_no_command_loads_a_heavy_library_to_explain_itself() -> None:
    code = (
        "import sys, click\n"
        "from leadwire.__main__ import cli\n"
        "context = click.Context(cli)\n"
        "for name in cli.list_commands(context): cli.get_command(context, name)\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "leadwire" in result.stdout.split()
    assert HEAVY.isdisjoint(result.stdout.split())

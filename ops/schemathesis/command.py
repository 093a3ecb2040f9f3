"""The one way we call Schemathesis."""

import sys
from pathlib import Path

_CONFIGURATION = Path(__file__).with_name("schemathesis.toml")


def command(url: str, key: str, *, examples: int, seed: int | None = None, seconds: int | None = None) -> list[str]:
    """The command line of a run with all phases and all checks."""
    made = [
        sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()",
        "--config-file", str(_CONFIGURATION), "run", f"{url}/schema", "--url", url,
        "--header", f"Authorization: Bearer {key}", "--max-examples", str(examples),
        "--generation-database", "none", "--no-color",
    ]  # fmt: skip
    if seed is not None:
        made += ["--seed", str(seed)]
    if seconds is not None:
        made += ["--max-time", str(seconds)]
    return made

"""The FastAPI app's own environment: our driver and server, its framework."""

import subprocess
from importlib.metadata import version
from pathlib import Path

from ops.bench import environment

_VENV = Path(__file__).resolve().parents[1] / ".venv-baseline"
# Driver and server as in our own environment; what is compared is what lies between them.
_SHARED = ("asyncpg", "uvicorn", "uvloop", "httptools")
_NEEDED = ["fastapi>=0.120,<1", "sqlalchemy[asyncio]>=2.0,<3", *(f"{name}=={version(name)}" for name in _SHARED)]


def python() -> Path:
    """Its interpreter; the environment is made on first use."""
    return environment.python(_VENV, _NEEDED)


def versions(interpreter: Path) -> str:
    """What is installed there."""
    names = ("fastapi", "sqlalchemy", "pydantic")
    script = f"from importlib.metadata import version; print(*(f'{{n}} {{version(n)}}' for n in {names}), sep=', ')"
    said = subprocess.run([str(interpreter), "-c", script], check=True, capture_output=True, text=True)
    return said.stdout.strip()

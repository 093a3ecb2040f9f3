"""Throw-away data directories that `nobody` may enter: as root the servers run as that user."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import services
from tests.development.embedded.running import redis

_MEMORY = Path("/dev/shm")
_PLACE = _MEMORY if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > 2**30 else None
"""Where clusters are made and copied: in memory it takes half the time. None: where temporary files are."""


@pytest.fixture
def parent() -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="lw-", dir=_PLACE))
    directory.chmod(0o711)
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def data_dir(parent: Path) -> Path:
    """Not there yet."""
    return parent / "data"


@pytest.fixture(scope="session")
def made() -> Iterator[Path]:
    """A data directory with both servers' files, at rest."""
    directory = Path(tempfile.mkdtemp(prefix="lw-", dir=_PLACE))
    directory.chmod(0o711)
    try:
        with services(Settings(data_dir=directory / "made"), durable=False) as running:
            redis(running, "SET", "made", "7")
        yield directory / "made"
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def used_dir(made: Path) -> Iterator[Path]:
    """A copy of it, beside it, where the disk has it done in a third of the time of a cluster of one's own."""
    copy = made.with_name("used")
    subprocess.run(["cp", "-a", str(made), str(copy)], check=True)
    yield copy
    shutil.rmtree(copy, ignore_errors=True)


@pytest.fixture(autouse=True)
def a_misleading_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What must not reach a server or its address."""
    for name, value in {"PGPORT": "6543", "PGDATA": "/nowhere", "LC_ALL": "xx_XX"}.items():
        monkeypatch.setenv(name, value)
    for name in [name for name in os.environ if name.startswith("LEADWIRE_EMBEDDED_")]:
        monkeypatch.delenv(name)

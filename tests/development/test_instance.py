"""What a running `up` tells other commands on its data directory."""

import os
import subprocess

import pytest

from leadwire.infrastructure import settings
from leadwire_development import instance

_NAME = "LEADWIRE_PUBLISHED"


@pytest.fixture
def data_dir(tmp_path, monkeypatch):
    """One whose `up` runs."""
    monkeypatch.setenv("LEADWIRE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv(_NAME, "")
    settings.get.cache_clear()
    with instance.exclusive(tmp_path) as directory:
        yield directory
    settings.get.cache_clear()


@pytest.mark.parametrize("value", ["plain", "", "it's Ada's", "two  words", "'", '$HOME `id` "x" \\', "a\nb", "a=b"])
def test_a_setting_is_read_as_it_was_published(value, data_dir, monkeypatch):
    """By a shell and by our own commands."""
    instance.publish(data_dir, {_NAME: value, "LEADWIRE_OTHER": "x"})
    script = f'. "$0" && printf %s "${_NAME}"'
    shell = subprocess.run(["sh", "-c", script, data_dir / "up.env"], capture_output=True, text=True, check=False)
    monkeypatch.delenv(_NAME)
    instance.load_environment()
    assert (shell.stdout, os.environ[_NAME], os.environ.pop("LEADWIRE_OTHER")) == (value, value, "x")

"""Requests made up from the OpenAPI document get only answers that it tells of; see `ops.schemathesis`."""

import asyncio

import pytest
from ops.schemathesis.command import command
from ops.schemathesis.server import serving

from leadwire.infrastructure import settings
from tests import make


@pytest.fixture
def unlimited(monkeypatch):
    """No rate limit: most requests would be 429."""
    monkeypatch.setenv("LEADWIRE_RATE_LIMIT", "0")
    settings.get.cache_clear()
    yield
    monkeypatch.undo()
    settings.get.cache_clear()


async def test_no_answer_is_undocumented(unlimited, workspace, bot, api_key, tmp_path):
    for number in range(12):
        await make.lead(workspace, bot, email=f"visitor{number}@example.com", custom_fields={"n": number, "yes": True})
        await make.conversation(workspace, bot)
    async with serving() as url:
        process = await asyncio.create_subprocess_exec(
            *command(url, api_key, examples=15),
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    assert b"Tested: 17" in said

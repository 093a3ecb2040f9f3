"""Commands, and `leadwire doctor`, on the servers of the tests."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from subprocess import CompletedProcess

import pytest
from redis import Redis

from leadwire.interfaces.http import NOT_TRUSTED
from leadwire_development.embedded import Services
from tests.flows.commands import run

KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="


def examined(*options: str, **settings: str) -> tuple[int, dict[str, dict[str, str]]]:
    """Findings by what they are about. There is time enough for every check that ends, also on a busy machine."""
    result = run("doctor", "--json", *(() if "--within" in options else ("--within", "120")), *options, **settings)
    assert result.stderr == "", result
    document = json.loads(result.stdout)
    levels = [one["level"] for one in document["findings"]]
    assert (document["errors"], document["warnings"]) == (levels.count("error"), levels.count("warning"))
    assert document["sound"] == (result.returncode == 0)
    return result.returncode, {one["about"]: one for one in document["findings"]}


@pytest.fixture
def access(servers: Services) -> dict[str, str]:
    """The settings of a command that acts on the tests' servers."""
    return {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url, "SECRET_KEY": KEY}


@pytest.fixture
def command(access: dict[str, str]) -> Callable[..., Awaitable[CompletedProcess[str]]]:
    """Run a command on the tests' servers."""

    async def ran(*arguments: str, **settings: str) -> CompletedProcess[str]:
        return await asyncio.to_thread(run, *arguments, **access, **settings)

    return ran


@pytest.fixture
def sound(servers: Services, database: None) -> dict[str, str]:
    with Redis.from_url(servers.redis_url) as client:
        client.delete(NOT_TRUSTED)  # of another test
    front = {"PUBLIC_URL": "https://leads.example.com", "TRUSTED_PROXIES": "10.0.42.0/28"}
    return {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url, "SECRET_KEY": KEY, **front}

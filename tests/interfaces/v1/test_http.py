"""What HTTP adds to /v1: compression, addresses that are whole. No version ends."""

import gzip
import json

import pytest

from leadwire.infrastructure import settings
from tests import make


@pytest.fixture
async def many(workspace, bot):
    for _ in range(8):
        await make.somebody(workspace, bot)


async def raw(client, path, **headers):
    """The response and its body as it was sent."""
    async with client.stream("GET", path, headers=headers) as answer:
        return answer, b"".join([part async for part in answer.aiter_raw()])


@pytest.mark.parametrize("accepted", ["gzip", "br, GZIP;q=0.5", "deflate,gzip , zstd"])
async def test_a_large_response_is_compressed_for_who_takes_that(client, many, accepted):
    plain, body = await raw(client, "/v1/leads", **{"Accept-Encoding": "identity"})
    assert len(body) > 2048
    packed, small = await raw(client, "/v1/leads", **{"Accept-Encoding": accepted})
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) == len(small) < len(body) / 2
    assert gzip.decompress(small) == body
    assert plain.headers["vary"] == packed.headers["vary"] == "accept-encoding"
    assert (await client.head("/v1/leads")).content == b""


@pytest.mark.parametrize(
    "accepted", ["", "identity", "br", "gzip;q=0", "gzip;q=0.000", "gzip;q=0;x=1", "xgzip", "gzip-x"]
)
async def test_nobody_gets_what_they_do_not_take(client, many, accepted):
    answer, body = await raw(client, "/v1/leads", **{"Accept-Encoding": accepted})
    assert "content-encoding" not in answer.headers
    json.loads(body)


async def test_what_is_small_has_a_tag_or_is_no_api_is_not_compressed(client, anonymous, workspace, bot):
    large = {f"field{number}": "x" * 900 for number in range(8)}
    lead = await make.lead(workspace, bot, custom_fields=large)
    for path in ("/v1/bots", f"/v1/leads/{lead.id}", "/sign-in", "/schema"):
        answer, _ = await raw(client, path, **{"Accept-Encoding": "gzip"})
        assert answer.status_code == 200, path
        assert "content-encoding" not in answer.headers, path
    changed = await client.patch(f"/v1/leads/{lead.id}", json={"name": "Grace"})
    assert len(changed.content) > 2048
    assert "content-encoding" not in changed.headers


@pytest.fixture
def public(monkeypatch):
    """The address of the site is set."""
    monkeypatch.setenv("LEADWIRE_PUBLIC_URL", "https://leads.example.com")
    settings.get.cache_clear()
    yield
    monkeypatch.undo()
    settings.get.cache_clear()


async def test_links_and_types_are_whole_addresses_whatever_host_was_asked(client, many, public):
    for host in ("test", "elsewhere.example"):
        headers = {"Host": host}
        answer = await client.get("/v1/leads?limit=3", headers=headers)
        assert answer.links["next"]["url"] == "https://leads.example.com/v1/leads?limit=3&page=2"
        wrong = await client.get("/v1/leads?x=1", headers=headers)
        assert wrong.json()["type"] == "https://leads.example.com/docs/errors#unknown_parameter"
    answer = await client.get("/v1/leads?cursor=first&limit=3")
    assert answer.links["next"]["url"].startswith("https://leads.example.com/v1/leads?limit=3&cursor=")


async def test_nothing_of_v1_ends(client):
    assert not {"deprecation", "sunset"} & {*(await client.get("/v1/me")).headers}

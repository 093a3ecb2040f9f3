"""What HTTP adds to /v1: compression, addresses that are whole, the end of a version."""

import gzip
import json
from datetime import UTC, datetime

import httpx
import pytest
from litestar import Litestar, Router

from leadwire.infrastructure import settings
from leadwire.interfaces.http import problems
from leadwire.interfaces.http.middleware import RequestMiddleware
from leadwire.interfaces.http.responses import JSONResponse
from leadwire.interfaces.http.routes import get as route
from leadwire.interfaces.v1.versions import ending
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


async def test_a_version_that_ends_says_so_with_each_response(public):
    @route("/leads")
    async def leads() -> JSONResponse[list[int]]:
        return JSONResponse([])

    since, until = datetime(2026, 1, 2, tzinfo=UTC), datetime(2027, 1, 2, 3, 4, 5, tzinfo=UTC)
    old = Router("/v0", route_handlers=[leads], middleware=[ending(since, until, "/docs/changelog", "/v1")])
    new = Router("/v9", route_handlers=[leads])
    app = RequestMiddleware(
        Litestar(
            [old, new], exception_handlers={Exception: problems.to_response}, openapi_config=None, logging_config=None
        )
    )
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        answer = await client.get("/v0/leads")
        assert answer.headers["deprecation"] == "@1767312000"  # RFC 9745 section 2.1
        assert answer.headers["sunset"] == "Sat, 02 Jan 2027 03:04:05 GMT"  # RFC 8594 section 3
        assert answer.links["deprecation"]["url"] == "https://leads.example.com/docs/changelog"
        assert answer.links["successor-version"]["url"] == "https://leads.example.com/v1"
        assert not {"deprecation", "sunset"} & {*(await client.get("/v9/leads")).headers}
    with pytest.raises(ValueError, match="ends after"):
        ending(until, since, "/docs/changelog", "/v1")


async def test_nothing_of_v1_ends(client):
    assert not {"deprecation", "sunset"} & {*(await client.get("/v1/me")).headers}

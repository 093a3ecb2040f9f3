"""What every response says of itself, whatever it is."""

import pytest

from leadwire.interfaces.docs import clients

PAGES = ("/sign-in", "/docs/start", "/forgot-password", "/join/nothing")
OTHERS = {
    "/v1/leads": "application/problem+json",
    "/v1/nothing": "application/problem+json",
    "/widget/v1/bots/bot_nothing": "application/problem+json",
    "/widget/v1.js": "text/javascript; charset=utf-8",
    "/schema": "application/vnd.oai.openapi+json;version=3.1",
    "/health/live": "application/json",
    clients.PREFIX + clients.WHEEL: "application/zip",
}


@pytest.mark.parametrize("path", [*PAGES, *OTHERS])
async def test_a_response_is_of_the_type_that_it_names(anonymous, path):
    headers = (await anonymous.get(path, headers={"Accept": "text/html" if path in PAGES else "*/*"})).headers
    assert headers["content-type"] == OTHERS.get(path, "text/html; charset=utf-8")
    assert headers.get_list("x-content-type-options") == ["nosniff"]
    assert len(headers.get_list("cache-control")) == 1


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_loads_what_is_ours_and_is_in_no_frame(anonymous, path):
    headers = (await anonymous.get(path, headers={"Accept": "text/html"})).headers
    (policy,) = headers.get_list("content-security-policy")
    assert {"default-src 'none'", "base-uri 'none'", "frame-ancestors 'none'"} <= set(policy.split("; "))
    assert "unsafe" not in policy
    assert headers["referrer-policy"] in ("same-origin", "no-referrer")


@pytest.mark.parametrize("path", [*OTHERS, "/assets/ui.js", "/webhooks/addresses.json"])
async def test_what_is_no_page_loads_nothing_and_is_in_no_frame(anonymous, path):
    """A browser can be led to it as well as to a page."""
    answer = await anonymous.get(path)
    assert answer.headers.get_list("content-security-policy") == ["default-src 'none'; frame-ancestors 'none'"]


@pytest.mark.parametrize("path", ["/v1/leads", "/sign-in", "/docs/start", "/widget/v1.js"])
async def test_trace_is_not_answered(anonymous, path):
    assert (await anonymous.request("TRACE", path)).status_code == 405


@pytest.mark.parametrize("path", ["/assets/ui.js", "/widget/v1.js"])
@pytest.mark.parametrize(("accepted", "packed"), [("gzip", True), ("br, gzip;q=0.5", True), ("br, gzip;q=0", False)])
async def test_a_script_is_packed_for_whoever_takes_that(anonymous, path, accepted, packed):
    answer = await anonymous.get(path, headers={"Accept-Encoding": accepted})
    assert (answer.headers.get("content-encoding") == "gzip") is packed
    assert "accept-encoding" in answer.headers["vary"].lower()

"""HTTP requests are counted by route template, so that callers cannot create labels."""

from leadwire.infrastructure.ids import new
from leadwire.interfaces.http import middleware


def counted():
    (family,) = middleware.REQUESTS.collect()
    return {tuple(sample.labels.values()): sample.value for sample in family.samples}


async def more(before):
    return {labels: value - before.get(labels, 0) for labels, value in counted().items() if value != before.get(labels)}


async def test_requests_are_counted_by_template_and_status(client):
    before = counted()
    for _ in range(3):
        await client.get(f"/v1/leads/{new('lead')}")
    await client.get("/v1/leads?limit=1")
    await client.head("/v1/leads")
    await client.get("/v1/leads?limit=none")
    assert await more(before) == {
        ("GET", "/v1/leads/{lead_id}", "404"): 3,
        ("GET", "/v1/leads", "200"): 1,
        ("HEAD", "/v1/leads", "200"): 1,
        ("GET", "/v1/leads", "400"): 1,
    }


async def test_what_callers_make_up_is_no_label(client):
    before = counted()
    for number in range(5):
        await client.get(f"/wp-admin/{number}.php")
        await client.request(f"MAKE{number}", "/v1/leads")
    found = await more(before)
    assert found.pop(("GET", "unmatched", "404")) == 5
    assert {method for method, *_ in found} == {"other"}
    assert sum(found.values()) == 5
    assert len(found) == 1


async def test_health_probes_are_no_requests(client):
    """They are answered when nobody else is, or fail when nobody else asks."""
    before = counted()
    for path in ("/health/live", "/health/ready"):
        assert (await client.get(path)).status_code == 200
    assert await more(before) == {}


async def test_the_time_to_the_answer_is_kept_for_each_route(client):
    await client.get("/v1/conversations")
    (family,) = middleware.SECONDS.collect()
    route = [sample for sample in family.samples if sample.labels["route"] == "/v1/conversations"]
    found = {sample.name.rpartition("_")[2]: sample.value for sample in route}  # of the buckets the last, which has all
    assert found["count"] == found["bucket"] >= 1
    assert found["sum"] > 0

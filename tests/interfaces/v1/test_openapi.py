"""The document against the router: nothing served is missing from it, nothing in it is not served.

What each answer looks like is held against it in test_openapi_document.py.
"""

import re

import pytest

from tests import asgi


@pytest.fixture
async def document(anonymous):
    answer = await anonymous.get("/schema")
    assert answer.status_code == 200
    return answer.json()


async def test_it_is_openapi_3_1(document):
    assert document["openapi"].startswith("3.1.")


async def test_every_route_and_method_is_there_and_no_other(document):
    served = {
        (re.sub(r"\{(\w+):\w+\}", "{}", route.path), method.lower())
        for route in asgi.app().app.routes
        if route.path.startswith("/v1/")
        for method in route.methods - {"OPTIONS", "HEAD"}
    }
    described = {
        (re.sub(r"\{\w+\}", "{}", path), method)
        for path, item in document["paths"].items()
        for method in item.keys() & {"get", "post", "put", "patch", "delete"}
        if path.startswith("/v1/")
    }
    assert described == served
    assert served == {
        ("/v1/me", "get"),
        ("/v1/exports", "post"),
        ("/v1/exports/{}", "get"),
        ("/v1/exports/{}", "delete"),
        ("/v1/exports/{}/download", "get"),
        ("/v1/events", "get"),
        ("/v1/events/{}", "get"),
        ("/v1/bots", "get"),
        ("/v1/bots/{}", "get"),
        ("/v1/conversations/{}/messages", "get"),
        ("/v1/leads", "get"),
        ("/v1/leads/{}", "get"),
        ("/v1/leads/{}", "patch"),
        ("/v1/leads/{}", "delete"),
        ("/v1/conversations", "get"),
        ("/v1/conversations/{}", "get"),
        ("/v1/conversations/{}/end", "post"),
    }


async def test_every_reference_leads_somewhere(document):
    references = set()

    def collect(value):
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                references.add(value["$ref"])
            for inner in value.values():
                collect(inner)
        elif isinstance(value, list):
            for inner in value:
                collect(inner)

    collect(document)
    assert references
    for reference in references:
        assert reference.startswith("#/")
        found = document
        for step in reference[2:].split("/"):
            found = found[step.replace("~1", "/").replace("~0", "~")]

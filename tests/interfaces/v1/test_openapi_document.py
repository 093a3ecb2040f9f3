"""The OpenAPI document is valid, its examples are what they say, and real answers are what it says."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import jsonschema
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from leadwire.app import create_app
from leadwire.delivery.envelope import EVERY_KIND
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.leads import reads
from leadwire.domain.webhooks.samples import NAMED_SAMPLES, SAMPLES
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import DomainError
from leadwire.interfaces.v1 import openapi
from tests import make

_METHODS = ("get", "post", "put", "patch", "delete")


@pytest.fixture
async def document(anonymous) -> dict[str, Any]:
    return (await anonymous.get("/schema")).json()


async def test_it_is_a_valid_document(document):
    OpenAPIV31SpecValidator(document).validate()


async def test_it_is_made_once_and_needs_no_key(connected, monkeypatch):
    made, make_it = [], openapi.document
    monkeypatch.setattr(openapi, "document", lambda *given: made.append(1) or make_it(*given))
    transport = httpx.ASGITransport(create_app())
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as new:
        answers = [await new.get(path) for path in ("/schema", "/docs/start", "/schema", "/docs/start")]
    assert [answer.status_code for answer in answers] == [200] * 4
    assert answers[0].headers["content-type"] == "application/vnd.oai.openapi+json;version=3.1"
    assert answers[0].content == answers[2].content
    assert made == [1]


async def test_every_example_is_what_its_schema_says(document):
    found = list(_examples(document))
    assert len(found) > 100
    for schema, example in found:
        _validate(document, example, schema)


async def test_every_refusal_is_shown_with_the_title_that_it_has(document):
    titles = {kind.code: kind.title for kind in DomainError.__subclasses__()}
    problems = [shown for schema, shown in _examples(document) if "Problem" in str(schema)]
    shown = {problem["code"]: problem["title"] for problem in problems}
    assert len(titles.keys() & shown.keys()) > 8
    assert {code: title for code, title in shown.items() if title != titles.get(code, title)} == {}


async def test_every_operation_has_examples_and_words(document):
    for _, _, operation in _operations(document):
        assert operation["summary"]
        assert operation["description"]
        assert operation["tags"]
        for status, answer in operation["responses"].items():
            assert "X-Request-Id" in _resolved(document, answer)["headers"], status
            for content in _resolved(document, answer).get("content", {}).values():
                assert content.get("examples") or "example" in content
        for content in operation.get("requestBody", {}).get("content", {}).values():
            assert content["example"]


async def test_every_field_parameter_and_header_is_described(document):
    described = {f"{name}.{field}": value for name, field, value in _fields_of(document)}
    described |= {f"header {name}": header for name, header in document["components"]["headers"].items()}
    for item in (*document["paths"].values(), *document["webhooks"].values()):
        for operation in item.values():
            name = operation["operationId"]
            for parameter in operation["parameters"]:
                found = _resolved(document, parameter)
                described[f"{name} {found['name']}"] = found
            described |= {f"{name} {status}": answer for status, answer in operation["responses"].items()}
    assert len(described) > 150
    bare = [name for name, value in described.items() if not _resolved(document, value).get("description", "").strip()]
    assert not bare


def _fields_of(document):
    for name, schema in document["components"]["schemas"].items():
        for field, value in schema.get("properties", {}).items():
            yield name, field, {"description": value.get("description", "")}  # its own, not that of what it refers to


async def test_patterns_are_read_by_every_engine(document):
    """Go's RE2 knows no look-aheads and neither `\\u` nor `\\Z`; Python's `re` reads these, too."""
    patterns = {pattern for pattern in _values(document, "pattern") if isinstance(pattern, str)}
    assert len(patterns) > 10
    for pattern in patterns:
        assert not re.search(r"\(\?|\\[uUZzpP]", pattern), pattern
        assert pattern.isascii()
        re.compile(pattern)


async def test_every_constant_has_a_type_and_no_schema_is_a_mixture(document):
    """What has no type is `any` to generators; openapi-python-client drops answers with `allOf`, but reads events."""
    schemas = document["components"]["schemas"]
    events = {f"{kind.title().replace('.', '')}Event" for kind in EVERY_KIND}
    assert {name for name, schema in schemas.items() if "allOf" in schema} == events
    assert len(list(_values(document, "allOf"))) == len(events)
    typed = [part for part in _parts(document) if "const" in part or isinstance(part.get("enum"), list)]
    assert len(typed) > 20
    assert [part for part in typed if "type" not in part] == []


async def test_what_tells_kinds_of_events_apart_is_a_text_of_any_event(document):
    """Where it is a choice, openapi-generator's Rust reads no event: each kind asks for what serde took away."""
    event = document["components"]["schemas"]["Event"]
    member = event["properties"][event["discriminator"]["propertyName"]]
    assert {name: value for name, value in member.items() if name != "description"} == {"type": "string"}


async def test_every_number_has_a_format_and_choices_exclude_each_other(document):
    """Without a format Go has 32 bits for a number; openapi-generator's Rust makes nothing of `anyOf`."""
    numbers = [part for part in _parts(document) if {"integer", "number"} & {*_types(part)}]
    assert len(numbers) > 20
    assert [part for part in numbers if part.get("format") not in ("int64", "double")] == []
    assert [choices for choices in _values(document, "anyOf") if not any("$ref" in one for one in choices)] == []
    values = document["components"]["schemas"]["Lead"]["properties"]["custom_fields"]["additionalProperties"]
    assert [kind for one in values["oneOf"] for kind in _types(one)] == ["string", "number", "boolean"]


def _types(part: dict[str, Any]) -> list[str]:
    kinds = part.get("type")
    return kinds if isinstance(kinds, list) else [kinds] if isinstance(kinds, str) else []


async def test_every_schema_is_reached_from_a_path(document):
    """oapi-codegen drops the others, and then what it made of the webhooks does not compile."""
    components = document["components"]["schemas"]
    responses = document["components"]["responses"]
    reached, waiting = set(), [document["paths"], responses]
    while waiting:
        for reference in _values(waiting.pop(), "$ref"):
            name = reference.rpartition("/")[2]
            if "/schemas/" in reference and name not in reached:
                reached.add(name)
                waiting.append(components[name])
    assert reached == set(components)
    used = {reference for reference in _values(document["paths"], "$ref") if "/responses/" in reference}
    assert {reference.rpartition("/")[2] for reference in used} == set(responses)


async def test_there_is_somebody_to_contact(document):
    assert document["info"]["contact"]["name"] == "Leadwire"


def _parts(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in the document, but for examples."""
    if isinstance(value, list):
        for inner in value:
            yield from _parts(inner)
    elif isinstance(value, dict):
        yield value
        for name, inner in value.items():
            if name not in ("example", "examples"):
                yield from _parts(inner)


def _values(document: Any, key: str) -> Iterator[Any]:
    return (part[key] for part in _parts(document) if key in part)


async def test_links_lead_to_operations(document):
    parameters = {
        operation["operationId"]: {parameter.get("name") for parameter in operation["parameters"]}
        for _, _, operation in _operations(document)
    }
    links = [link for _, _, operation in _operations(document) for link in _good(operation)["links"].values()]
    assert len(links) == 26
    for link in links:
        assert link["parameters"].keys() <= parameters[link["operationId"]]


async def test_every_event_is_there_with_its_sample(document):
    assert set(document["webhooks"]) == set(EVERY_KIND)
    samples = SAMPLES | NAMED_SAMPLES
    for kind, item in document["webhooks"].items():
        content = item["post"]["requestBody"]["content"]["application/json"]
        assert content["example"]["data"] == samples[kind]
        assert {parameter["name"] for parameter in item["post"]["parameters"]} == {
            "X-Service-Signature", "X-Service-Attempt", "X-Service-Test", "X-Service-Sequence",
            "X-Service-Ordering-Key", "webhook-id", "webhook-timestamp", "webhook-signature", "traceparent",
        }  # fmt: skip


async def test_an_event_is_one_of_the_kinds_and_told_apart_by_its_name(document):
    components = document["components"]["schemas"]
    mapping = components["Event"]["discriminator"]["mapping"]
    assert components["Event"]["discriminator"]["propertyName"] == "event"
    assert [{"$ref": reference} for reference in mapping.values()] == components["Event"]["oneOf"]
    assert [*mapping] == [*document["webhooks"]]
    for kind, reference in mapping.items():
        sent, own = components[reference.rpartition("/")[2]]["allOf"]
        assert sent == document["webhooks"][kind]["post"]["requestBody"]["content"]["application/json"]["schema"]
        webhook = components[sent["$ref"].rpartition("/")[2]]
        assert webhook["properties"]["event"]["const"] == kind
        assert webhook["required"] == [*webhook["properties"]] == ["event", "timestamp", "data"]
        assert own["required"] == [*own["properties"]] == ["id"]


async def test_it_tells_how_to_order_events_and_how_to_delete_a_list(document):
    for item in document["webhooks"].values():
        assert "sort by `webhook-id`, as text" in item["post"]["description"]
        assert "`timestamp` tells the order" not in item["post"]["description"]
    assert "To read or delete a whole list, walk by cursor: `cursor=first`" in document["info"]["description"]


async def test_every_event_that_was_really_sent_is_what_it_says(document, client, workspace, bot):
    lead = await make.lead(workspace, bot)
    await client.patch(f"/v1/leads/{lead.id}", json={"score": 5, "custom_fields": {"a": 1, "b": True, "c": 0.5}})
    await client.post(f"/v1/conversations/{lead.conversation_id}/end")
    emitted = await make.emitted(forget=True)
    await client.delete(f"/v1/leads/{lead.id}")
    seen = set()
    for event in emitted + await make.emitted():
        content = document["webhooks"][event["event"]]["post"]["requestBody"]["content"]["application/json"]
        _validate(document, event, content["schema"])
        _validate(document, {"id": f"evt_{'0' * 26}", **event}, document["components"]["schemas"]["Event"])
        seen.add(event["event"])
    assert seen >= {"lead.created", "lead.updated", "lead.deleted", "conversation.started", "conversation.ended"}


def _good(operation):
    return operation["responses"].get("200") or operation["responses"]["202"]


class Walk:
    """Calls that are held against the document."""

    def __init__(self, document: dict[str, Any], client: httpx.AsyncClient) -> None:
        self._document, self._client = document, client
        self.good: set[str] = set()

    async def __call__(self, method: str, path: str, status: int, code: str = "", **sent: Any) -> None:
        answer = await self._client.request(method, path, **sent)
        found = answer.json().get("code", "") if answer.status_code >= 400 else ""
        assert (answer.status_code, found) == (status, code), answer.text
        name = _check(self._document, method, path.partition("?")[0], answer)
        if status in (200, 202):
            self.good.add(name)


@pytest.fixture
async def call(document, client) -> Walk:
    return Walk(document, client)


async def test_every_good_answer_is_what_it_says(document, call, workspace, bot):
    lead = await make.lead(workspace, bot)
    url, talk = f"/v1/leads/{lead.id}", f"/v1/conversations/{lead.conversation_id}"
    for path in ("/v1/leads", "/v1/conversations"):
        await call("GET", path, 200)
        await call("GET", f"{path}?limit=1&page=2&since=2020-01-01", 200)
    await call("GET", url, 200)
    await call("GET", "/v1/me", 200)
    await call("GET", "/v1/events?limit=1&types=lead.created&wait=0", 200)
    await call("GET", f"/v1/events/{await db.value('SELECT min(id) FROM event')}", 200)
    await call("POST", "/v1/exports", 202, json={"type": "leads", "filter": {"score_min": 1}})
    export = f"/v1/exports/{await db.value('SELECT id FROM export_job')}"
    await call("GET", export, 200)
    await call("GET", f"{export}/download", 200)
    await call("DELETE", export, 200)
    await call("GET", f"{export}/download", 409, "export_canceled")
    await call("GET", "/v1/bots", 200)
    await call("GET", f"/v1/bots/{bot}", 200)
    await call("GET", f"{talk}/messages?limit=1&page=2", 200)
    await call("GET", url, 304, headers={"If-None-Match": "*"})
    await call("PATCH", url, 200, json={"name": "Grace", "custom_fields": {"a": 1, "b": False, "c": 1.5, "d": "x"}})
    await call("GET", talk, 200)
    for _ in range(2):
        await call("PATCH", url, 200, json={"score": 7}, headers={"Idempotency-Key": "a"})
        await call("POST", f"{talk}/end", 200, headers={"Idempotency-Key": "b"})
    await call("GET", talk, 200)
    for _ in range(2):
        await call("DELETE", url, 200, headers={"Idempotency-Key": "c"})
    await call("GET", talk, 200)
    await call("GET", "/v1/leads", 200)
    assert call.good == {operation["operationId"] for _, _, operation in _operations(document)}


async def test_every_refusal_is_what_it_says(call, workspace, bot):
    lead, other = await make.lead(workspace, bot), await make.lead(workspace, bot, email="bob@example.com")
    url, talk = f"/v1/leads/{lead.id}", f"/v1/conversations/{lead.conversation_id}"
    _, reader = await accounts.create_key(workspace, "reader", scopes=("leads:read",))
    for path in ("/v1/leads", "/v1/conversations"):
        await call("GET", f"{path}?limit=0", 400, "invalid_parameter")
        await call("GET", f"{path}?limits=1", 400, "unknown_parameter")
        await call("PUT", path, 405, "method_not_allowed")
    for method, path in (("DELETE", url), ("PATCH", url), ("GET", talk), ("POST", f"{talk}/end")):
        await call(method, path, 401, "unauthenticated", headers={"Authorization": "Bearer no"})
        await call(method, path, 403, "insufficient_scope", headers={"Authorization": f"Bearer {reader}"})
        await call(method, path.replace("_", "-"), 404, "not_found", **({"json": {}} if method == "PATCH" else {}))
    for sent, status, code in (
        ({"content": b"{", "headers": {"Content-Type": "application/json"}}, 400, "malformed_json"),
        ({"content": b"{}"}, 415, "unsupported_media_type"),
        ({"json": {}, "headers": {"Idempotency-Key": ""}}, 400, "invalid_parameter"),
        ({"json": {}, "headers": {"If-Match": '"999"'}}, 412, "precondition_failed"),
        ({"json": {"email": "bob@example.com"}}, 409, "lead_conflict"),
        ({"json": {"name": "x" * 70_000}}, 413, "body_too_large"),
        ({"json": {"score": 101, "name": 5}}, 422, "validation_error"),
        ({"json": {"nmae": ""}}, 422, "unknown_field"),
        ({"json": {"id": other.id}}, 422, "read_only_field"),
    ):
        await call("PATCH", url, status, code, **sent)
    used = {"headers": {"Idempotency-Key": "used"}}
    await call("PATCH", url, 200, json={}, **used)
    await call("PATCH", url, 422, "idempotency_mismatch", json={"score": 3}, **used)
    await call("DELETE", url, 422, "idempotency_mismatch", **used)
    await call("POST", f"{talk}/end", 422, "idempotency_mismatch", **used)
    await call("DELETE", url, 412, "precondition_failed", headers={"If-Match": '"999"'})


@pytest.mark.parametrize(
    ("failure", "status", "code"), [(db.GONE[0](), 503, "unavailable"), (ZeroDivisionError(), 500, "internal")]
)
async def test_every_failure_is_what_it_says(call, monkeypatch, failure, status, code):
    async def fail(*_: Any, **__: Any) -> Any:
        raise failure

    monkeypatch.setattr(reads, "stored", fail)
    await call("GET", "/v1/leads/x", status, code)


async def test_too_many_requests_is_what_it_says(call, client, no_refill):
    wrong = {"headers": {"Authorization": "Bearer no"}}
    while (await client.get("/v1/leads", **wrong)).status_code != 429:
        pass
    await call("GET", "/v1/leads", 429, "rate_limited", **wrong)


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield path, method, operation


def _resolved(document: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    found: Any = value
    if "$ref" in value:
        found = document
        for step in value["$ref"].removeprefix("#/").split("/"):
            found = found[step]
    return found


def _validate(document: dict[str, Any], value: Any, schema: dict[str, Any]) -> None:
    validator = jsonschema.Draft202012Validator(
        {**schema, "components": document["components"]}, format_checker=jsonschema.FormatChecker()
    )
    validator.validate(value)


def _examples(value: Any) -> Iterator[tuple[dict[str, Any], Any]]:
    """Everything that has a schema and an example, whatever it is."""
    if isinstance(value, list):
        for inner in value:
            yield from _examples(inner)
    if isinstance(value, dict):
        if "schema" in value and "example" in value:
            yield value["schema"], value["example"]
        if "schema" in value and "examples" in value:
            yield from ((value["schema"], example["value"]) for example in value["examples"].values())
        for name, inner in value.items():
            if name not in ("example", "examples"):
                yield from _examples(inner)


def _check(document: dict[str, Any], method: str, path: str, answer: Any) -> str:
    """Hold a real answer against the document. A method that is not documented is held against any of its path."""
    for template, item in document["paths"].items():
        if re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), path):
            operation = item.get(method.lower()) or item[next(name for name in _METHODS if name in item)]
            break
    documented = _resolved(
        document, operation["responses"].get(str(answer.status_code), operation["responses"]["default"])
    )
    headers = {name.lower(): _resolved(document, value) for name, value in documented["headers"].items()}
    usual = {"content-type", "content-length", "content-security-policy", "cache-control", "x-content-type-options"}
    described = {*headers, *usual, "connection"}
    assert set(answer.headers) <= described, answer.status_code
    for name, header in headers.items():
        if (text := answer.headers.get(name)) is not None:
            _validate(document, int(text) if header["schema"].get("type") == "integer" else text, header["schema"])
    if "content" not in documented:
        assert answer.content == b""
        return operation["operationId"]
    kind = answer.headers["content-type"]
    if "json" not in kind.replace("ndjson", ""):
        assert kind.partition(";")[0] in documented["content"]
        return operation["operationId"]
    _validate(document, answer.json(), documented["content"][kind]["schema"])
    return operation["operationId"]


async def test_a_generated_client_has_one_problem_and_one_method_for_each_operation(document):
    """No header of ours is an argument, no body has two types, and no code makes a schema of its own."""
    schemas = document["components"]["schemas"]
    assert [name for name in schemas if "Problem" in name] == ["Problem"]
    operations = [one for item in document["paths"].values() for method, one in item.items() if method in _METHODS]
    for operation in operations:
        names = {_resolved(document, one)["name"].lower() for one in operation.get("parameters", ())}
        assert not names & {"x-request-id", "traceparent"}
        assert not operation["responses"].keys() & {"405", "408", "414", "431"}
    exports = document["paths"]["/v1/exports"]["post"]
    assert [*exports["requestBody"]["content"]] == ["application/json"]

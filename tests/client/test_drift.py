"""The client's types, filters and calls are those of the OpenAPI document: neither can change without the other."""

import inspect
import re
import types
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest

from leadwire.domain.exports import schema
from leadwire_client import AsyncLeadwire, Leadwire, errors, events
from leadwire_client import types as client_types
from leadwire_client.bots import Bots, OwnKey
from leadwire_client.call import Moment
from leadwire_client.connection import method
from leadwire_client.conversations import ConversationFilters, Conversations
from leadwire_client.exports import ExportedMessage, Exports
from leadwire_client.feed import Events
from leadwire_client.leads import LeadChanges, LeadFilters, Leads

_WORDS = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    datetime: "date-time",
    type(None): "null",
    Any: "anything",
}
_OURS = {"Lead": {"etag"}, "LeadUpdated": {"etag"}, "Problem": {"retry_after"}}  # from headers
_NOT_READ = {"Problem": {"type", "instance"}}

AT = datetime(2026, 1, 2, tzinfo=UTC)
EXPORT = client_types.Export(
    id="x", type="leads", format="ndjson", state="ready", rows=0, resume_by=["id"], created_at=AT, expires_at=AT
)
OPERATIONS = {
    "list_leads": (Leads.page, Leads.page(None)),
    "show_lead": (Leads.get, Leads.get(None, "x")),
    "update_lead": (Leads.update, Leads.update(None, "x")),
    "delete_lead": (Leads.delete, Leads.delete(None, "x")),
    "list_conversations": (Conversations.page, Conversations.page(None)),
    "show_conversation": (Conversations.get, Conversations.get(None, "x")),
    "list_messages": (Conversations.messages, Conversations.messages(None, "x")),
    "list_bots": (Bots.page, Bots.page(None)),
    "show_bot": (Bots.get, Bots.get(None, "x")),
    "list_events": (Events.page, Events.page(None)),
    "show_event": (Events.get, Events.get(None, "x")),
    "create_export": (Exports.create, Exports.create(None, "leads")),
    "show_export": (Exports.get, Exports.get(None, "x")),
    "cancel_export": (Exports.cancel, Exports.cancel(None, "x")),
    "download_export": (Exports.rows, Exports.rows(None, EXPORT)),
    "show_me": (OwnKey.get, OwnKey.get(None)),
    "end_conversation": (Conversations.end, Conversations.end(None, "x")),
}


@pytest.fixture
async def document(anonymous) -> dict[str, Any]:
    return (await anonymous.get("/schema")).json()


def _structs(module) -> list[type[msgspec.Struct]]:
    found = [thing for thing in vars(module).values() if isinstance(thing, type) and issubclass(thing, msgspec.Struct)]
    return [struct for struct in found if struct.__module__ == module.__name__]


STRUCTS = [
    struct
    for struct in [*_structs(client_types), *_structs(events), errors.Problem, errors.FieldError]
    if struct not in (client_types.Page, msgspec.Struct, events.Event, events.Told)
]


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
async def test_a_type_has_the_fields_of_its_schema(document, struct):
    name = struct.__name__
    schema = document["components"]["schemas"][name]
    hints = get_type_hints(struct)
    assert hints.keys() - _OURS.get(name, set()) == schema["properties"].keys() - _NOT_READ.get(name, set())
    for field in hints.keys() & schema["properties"].keys():
        assert _meant(hints[field]) == _said(schema["properties"][field]), field
    required = {field.name for field in msgspec.structs.fields(struct) if field.required}
    assert required <= set(schema["required"])  # else a good answer would be Unreadable


def test_what_came_later_to_a_lead_has_a_default():
    """Events of before, which are kept, do not have it."""
    required = {field.name for field in msgspec.structs.fields(client_types.Lead) if field.required}
    first = "id email name phone company score source custom_fields conversation_id bot_id created_at"
    assert required == {*first.split()}


def test_words_of_hints_and_of_schemas():
    text, nothing = {"type": "string"}, {"type": "null"}
    assert _meant(str | None) == _said({"anyOf": [text, nothing]}) == {"string", "null"}
    assert _meant(datetime) == _said({**text, "format": "date-time"}) != _meant(str) == _said({"enum": ["a"]})
    assert _meant(list[int]) == _said({"type": "array", "items": {"type": "integer"}}) != _meant(list[str])
    assert _meant(dict[str, Any]) == _said({"type": "object"}) != _meant(dict[str, int])
    assert _meant(client_types.Lead) == _said({"$ref": "#/components/schemas/Lead"})


@pytest.mark.parametrize(
    ("filters", "page", "operation"),
    [
        (LeadFilters, Leads.page, "list_leads"),
        (ConversationFilters, Conversations.page, "list_conversations"),
        (Events.page, Events.page, "list_events"),
    ],
)
async def test_a_list_takes_the_parameters_of_the_operation(document, filters, page, operation):
    query = {one["name"]: one for one in _operation(document, operation)["parameters"] if one.get("in") == "query"}
    taken = {**get_type_hints(page), **get_type_hints(filters)}
    assert taken.keys() - {"return", "filters"} == query.keys()
    for name, parameter in query.items():
        convenient = {"string", "date"} if taken[name] == Moment | None else set()
        assert _meant(taken[name]) == _said(parameter["schema"]) | {"null"} | convenient, name


async def test_an_update_takes_the_fields_of_the_body(document):
    properties = document["components"]["schemas"]["LeadPatch"]["properties"]
    taken = get_type_hints(LeadChanges)
    assert taken.keys() == properties.keys()
    for name, hint in taken.items():
        assert _meant(hint) == _said(properties[name]), name


async def test_every_operation_has_its_method(document):
    served = {
        operation["operationId"]: (method.upper(), re.sub(r"{\w+}", "x", path), operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    }
    assert served.keys() == OPERATIONS.keys()
    for name, (client_method, call) in OPERATIONS.items():
        verb, path, operation = served[name]
        assert (call.method, call.path) == (verb, path)
        headers = {one["$ref"].rpartition("/")[2] for one in operation["parameters"] if "$ref" in one}
        assert call.headers.keys() - {"Content-Type"} == headers & {"Idempotency-Key"}
        taken = inspect.signature(client_method).parameters
        assert ("if_match" in taken, "idempotency_key" in taken) == (
            "If-Match" in headers,
            "Idempotency-Key" in headers,
        )


def test_a_message_of_an_export_has_the_fields_that_are_sent():
    assert {*ExportedMessage.__struct_fields__} == {*schema.ExportedMessage.__struct_fields__}


def test_there_is_no_method_without_its_operation():
    members = [
        member for kind in (Leads, Conversations, Bots, Events, Exports, OwnKey) for member in vars(kind).values()
    ]
    methods = {member.build for member in members if isinstance(member, method)}
    assert methods == {one for one, _ in OPERATIONS.values()} | {Leads.list, Conversations.list, Events.list}


def test_methods_document_themselves():
    client = Leadwire("lw_1", "http://test")
    assert inspect.getdoc(client.leads.get) == "One lead, with its `etag`. Raises NotFound."
    assert [*inspect.signature(client.leads.get).parameters] == ["lead_id"]
    assert "limit" in inspect.signature(AsyncLeadwire("lw_1", "http://test").leads.list).parameters


async def test_every_event_is_read_as_what_it_is(document):
    sent = {kind: data["$ref"].rpartition("/")[2] for kind, data in _payloads(document).items()}
    assert {kind: struct.__name__ for kind, struct in events.DATA.items()} == sent
    assert {*events.DATA.values(), dict[str, Any]} == set(get_args(events.Data))


def _payloads(document: dict[str, Any]) -> dict[str, Any]:
    """The schema of each event's `data`."""
    bodies = {
        kind: item["post"]["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        for kind, item in document["webhooks"].items()
    }
    return {kind: document["components"]["schemas"][name]["properties"]["data"] for kind, name in bodies.items()}


def _operation(document: dict[str, Any], operation_id: str) -> dict[str, Any]:
    [found] = [
        operation
        for item in document["paths"].values()
        for operation in item.values()
        if operation["operationId"] == operation_id
    ]
    return found


def _meant(hint: Any) -> set[str]:
    """What kinds of values a type hint stands for, in words. Where numbers are, so are integers."""
    if get_origin(hint) in (types.UnionType, Union):
        kinds = set().union(*map(_meant, get_args(hint)))
        return kinds - {"integer"} if "number" in kinds else kinds
    if get_origin(hint) in (list, tuple):
        return {f"array of {sorted(_meant(get_args(hint)[0]))}"}
    if get_origin(hint) in (dict, Mapping):
        return {f"object of {sorted(_meant(get_args(hint)[1]))}"}
    return {_WORDS.get(hint) or hint.__name__}


def _said(schema: dict[str, Any]) -> set[str]:
    """The same of a schema."""
    kinds = schema.get("type") if isinstance(schema.get("type"), list) and "enum" not in schema else ()
    typed = [{**schema, "type": kind} if kind != "null" else {"type": kind} for kind in kinds]
    if choices := schema.get("anyOf") or schema.get("oneOf") or typed:
        return set().union(*map(_said, choices))
    if name := schema.get("$ref") or schema.get("title"):
        return {name.rpartition("/")[2]}
    if values := schema.get("enum", []) + [schema[name] for name in ("const",) if name in schema]:
        return {_WORDS[type(value)] for value in values}
    if schema.get("type") == "array":
        return {f"array of {sorted(_said(schema['items']))}"}
    if schema.get("type") == "object":
        members = schema.get("additionalProperties")
        return {f"object of {sorted(_said(members if isinstance(members, dict) else {}))}"}
    said = schema.get("type", "anything")
    return {"date-time" if said == "string" and schema.get("format") == "date-time" else said}

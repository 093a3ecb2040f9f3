"""What an error says: plain words, the place to the key, and what would have been valid."""

import pytest

from leadwire.infrastructure.errors import FieldError, Invalid
from leadwire.interfaces.http import body
from leadwire.interfaces.widget.api import NewVisitorMessage
from tests import make

JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def url(workspace, bot):
    return f"/v1/leads/{(await make.lead(workspace, bot)).id}"


@pytest.mark.parametrize(
    ("given", "pointer", "code", "message"),
    [
        ({"name": 5}, "/name", "wrong_type", "Must be a string or null."),
        ({"name": "x" * 201}, "/name", "too_long", "Must have at most 200 characters."),
        ({"name": "a\0"}, "/name", "forbidden_characters", "Must not contain control characters."),
        ({"score": "50"}, "/score", "wrong_type", "Must be an integer."),
        ({"score": 1.5}, "/score", "wrong_type", "Must be an integer."),
        ({"score": 101}, "/score", "out_of_range", "Must be at most 100."),
        ({"score": -1}, "/score", "out_of_range", "Must be at least 0."),
        ({"custom_fields": []}, "/custom_fields", "wrong_type", "Must be an object or null."),
        (
            {"custom_fields": {"plan": "pro", "size": {}}},
            "/custom_fields/size",
            "wrong_type",
            "Must be a string, a number, a boolean or null.",
        ),
        (
            {"custom_fields": {"a/b~c": "x" * 1001}},
            "/custom_fields/a~1b~0c",
            "too_long",
            "Must have at most 1000 characters.",
        ),
        (
            {"custom_fields": {"k" * 65: 1}},
            "/custom_fields/" + "k" * 65,
            "too_long",
            "The key: Must have at most 64 characters.",
        ),
        ({"custom_fields": {"": 1}}, "/custom_fields/", "wrong_value", "The key: Must not be empty."),
        (
            {"custom_fields": {"a\u202e": 1}},
            "/custom_fields/a\u202e",
            "forbidden_characters",
            "The key: Must not contain control characters.",
        ),
    ],
)
async def test_of_a_body(client, url, given, pointer, code, message):
    answer = await client.patch(url, json=given)
    assert answer.json()["errors"] == [{"code": code, "message": message, "pointer": pointer}]


async def test_each_wrong_entry_of_custom_fields_is_named_and_no_more_than_fifty(client, url):
    answer = await client.patch(url, json={"custom_fields": {"a": [], "b": 1, "c": {}}, "score": 101})
    pointers = [fault["pointer"] for fault in answer.json()["errors"]]
    assert pointers == ["/custom_fields/a", "/custom_fields/c", "/score"]
    answer = await client.patch(url, json={"custom_fields": {f"k{n}": [] for n in range(3000)}})
    assert [fault["pointer"] for fault in answer.json()["errors"]] == [f"/custom_fields/k{n}" for n in range(50)]


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (rb'{"name":"\ud800"}', r"The body has a `\u` escape that is half of a surrogate pair."),
        (rb'{"name":"\udc00"}', r"The body has a `\u` escape that is half of a surrogate pair."),
        (rb'{"name":"\ud800 and more"}', r"The body has a `\u` escape that is half of a surrogate pair."),
        (rb'{"name":"\ud83d\ude00"', "The body ends too early."),
        (b'{"name":', "The body ends too early."),
        (b" ", "The body is empty."),
        (b'{"name":"\xff"}', "The body is not UTF-8."),
        (b"[" * 60_000, "The body is nested too deeply."),
        (b'{"name":"x",}', "The body is not JSON: trailing comma in object (byte 12)."),
        (b'{"score":1e400}', "The body has a number that is too large."),
        (b'{"score":' + b"1" * 5000 + b"}", "The body has a number that is too large."),
        (b"\xef\xbb\xbf{}", "The body begins with a byte order mark: send it without one."),
    ],
)
async def test_of_what_is_not_json(client, url, body, detail):
    answer = await client.patch(url, content=body, headers=JSON)
    assert (answer.status_code, answer.json()["detail"]) == (400, detail)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("status=open", "Must be one of `active`, `ended`, `handoff`."),
        ("bot_id=x", "Must be an id, which starts with `bot_`."),
        ("bot_id=%00", "Must not contain control characters."),
        ("limit=0", "Must be at least 1."),
        ("limit=101", "Must be at most 100."),
        ("limit=1.0", "Must be an integer."),
        ("limit=" + "9" * 19, "Must be at most 100."),
        ("limit=-" + "9" * 19, "Must be at least 1."),
        ("limit=" + "9" * 30, "The number is too large."),
        ("since=never", "Must be an ISO 8601 time, such as 2026-01-02T03:04:05Z."),
        ("since=1969-12-31", "The year must be 1970 to 9998."),
    ],
)
async def test_of_a_query(client, query, message):
    answer = await client.get(f"/v1/conversations?{query}")
    [fault] = answer.json()["errors"]
    assert (fault["message"], fault["parameter"]) == (message, query.partition("=")[0])


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ({"client_message_id": "two words"}, "wrong_value", "Does not have the form that is asked for here."),
        ({"content": "a\0"}, "forbidden_characters", "Must not contain control characters."),
    ],
)
def test_of_a_text_that_has_a_form(given, code, message):
    """Each was said to have control characters."""
    with pytest.raises(Invalid) as refused:
        body.fields({"client_message_id": "0" * 16, "content": "Hello", **given}, NewVisitorMessage)
    assert [(fault.code, fault.message) for fault in refused.value.errors] == [(code, message)]


def test_of_what_is_missing():
    with pytest.raises(Invalid) as refused:
        body.fields({"content": "Hello"}, NewVisitorMessage)
    assert refused.value.errors == (FieldError("missing_field", "Must be given.", "/client_message_id"),)

"""The corpus of bad input: each is refused with its status and code, changes nothing and is never a 500."""

import asyncio
import gzip
import json
import logging
import re
from contextlib import asynccontextmanager

import httpx
import pytest

from leadwire.infrastructure import ids
from leadwire.infrastructure.process import bind
from leadwire.infrastructure.serving import serve_until
from leadwire.infrastructure.settings import Settings
from tests import asgi, make

JSON = {"Content-Type": "application/json"}


def refused(answer, status, code, *places):
    """Holds an answer against a problem document; `places` are the pointers or parameters it blames."""
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (answer.status_code, problem["status"], problem["code"]) == (status, status, code), answer.text
    assert problem.keys() >= {"type", "title", "status", "detail", "code", "request_id"}
    assert problem["request_id"] == answer.headers["x-request-id"]
    if places:
        assert tuple(fault.get("pointer", fault.get("parameter")) for fault in problem["errors"]) == places
    assert len(answer.content) < 20_000


@pytest.fixture
async def lead(workspace, bot):
    return await make.lead(workspace, bot, custom_fields={"plan": "pro"})


# Query ----------------------------------------------------------------------------------------------------------------

WRONG_VALUES = {
    "limit": [
        "0", "101", "-1", "1.0", "1e1", "%205", "5%20", "+5", "%2B5", "%225%22", "9" * 23, "9" * 60_000, "%D9%A1",
        "%EF%BC%95", "", "5%0A", "%00", "0x5", "1_0", "null", "5;page=2", "5,6",
    ],
    "page": ["0", "-1", "1000000001", "9" * 19, "9" * 23, "1.5", "", "last"],
    "score_min": ["2147483648", "-2147483649", "50.5", "true", ""],
    "score_max": ["99999999999999999999", "NaN", ""],
    "bot_id": [
        "", "x", "bot_x", "%00", "lead_01jzzzzzzzzzzzzzzzzzzzzzzz", "BOT_01JZZZZZZZZZZZZZZZZZZZZZZZ",
        "bot_01jzzzzzzzzzzzzzzzzzzzzzzz%0A", "bot_91jzzzzzzzzzzzzzzzzzzzzzzz", "%F0%9F%98%80", "'%20OR%201=1--",
    ],
    "since": [
        "", "1767355445", "1767355445000", "202601", "0000-01-01", "10000-01-01", "9999-12-31", "1969-12-31",
        "2026-02-30", "2026-13-01", "2026-01-01T24:01", "2026-01-01T24:00:01Z", "2026-01-01T23:59:60Z",
        "2016-12-31T23:59:60Z", "9999-12-31T23:59:59-14:00", "2026-01-01T00:00:00%2B24:00", "2026-W01-1", "2026-001",
        "now", "2026-01-01T", "%00", "2026-01-01T00:00:00Z%0A", "20260101T24:00:00Z", "2026-1-1", "2026-01-01T00Z",
        "%D9%A2%D9%A0%D9%A2%D9%A6-01-01", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00UTC",
    ],
    "until": ["", "yesterday", "9999-12-31T23:59:59-14:00"],
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_VALUES)
async def test_a_wrong_value_in_the_query(client, name):
    for value in WRONG_VALUES[name]:
        refused(await client.get(f"/v1/leads?{name}={value}"), 400, "invalid_parameter", name)
        if not name.startswith("score"):
            refused(await client.get(f"/v1/conversations?{name}={value}"), 400, "invalid_parameter", name)


@pytest.mark.parametrize("value", ["", "open", "Active", "active,ended", "active%00", "active%0A", "%F0%9F%98%80"])
async def test_a_wrong_status_in_the_query(client, value):
    refused(await client.get(f"/v1/conversations?status={value}"), 400, "invalid_parameter", "status")


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("limit[]=5", "limit[]"),
        ("Limit=5", "Limit"),
        ("limits=5", "limits"),
        ("status=active", "status"),
        ("=5", ""),
        ("%00=1", "\0"),
        ("api_key=x", "api_key"),
        ("x" * 60_000, "x" * 100),
        ("%F0%9F%98%80=1", "😀"),
    ],
    ids=["brackets", "case", "plural", "other list", "no name", "NUL", "key", "long", "emoji"],
)
async def test_an_unknown_name_in_the_query_is_told_with_those_there_are(client, query, name):
    answer = await client.get(f"/v1/leads?{query}")
    refused(answer, 400, "unknown_parameter", name)
    names = (
        "bot_id, cursor, email, limit, page, q, score_max, score_min, since, sort, until, updated_before, updated_since"
    )
    assert f"There are: {names}." in answer.json()["errors"][0]["message"]


async def test_no_operation_ignores_an_unknown_name(client):
    """Nor do those without parameters: whoever misspells one learns of it."""
    tried = set()
    for route in asgi.app().app.routes:
        for method in route.methods - {"OPTIONS"} if route.path.startswith("/v1/") else ():
            answer = await client.request(method, f"{re.sub('{.+?}', 'x', route.path)}?nope=1")
            assert answer.status_code == 400, (method, route.path)
            if method != "HEAD":
                refused(answer, 400, "unknown_parameter", "nope")
            tried.add((method, route.path))
    assert {("PATCH", "/v1/leads/{lead_id:str}"), ("GET", "/v1/me"), ("HEAD", "/v1/me")} <= tried


async def test_a_merge_patch_creates_nothing(client):
    """Its type is that of a change of a resource (RFC 7396)."""
    kind = {"Content-Type": "application/merge-patch+json"}
    answer = await client.post("/v1/exports", content=b'{"type": "leads"}', headers=kind)
    refused(answer, 415, "unsupported_media_type")
    assert answer.headers["accept"] == "application/json"


@pytest.mark.parametrize("query", ["limit=1&limit=2", "limit=1&limit=1", "limit=x&limit=1"])
async def test_a_name_given_twice_in_the_query(client, query):
    answer = await client.get(f"/v1/leads?{query}")
    refused(answer, 400, "invalid_parameter")
    assert {fault["parameter"] for fault in answer.json()["errors"]} == {"limit"}


@pytest.mark.parametrize("query", ["limit=%ED%A0%80", "bot_id=%FF", "%FF=1", "&".join(f"a{n}=1" for n in range(60))])
async def test_a_query_that_cannot_be_read(client, query):
    refused(await client.get(f"/v1/leads?{query}"), 400, "invalid_parameter")


async def test_every_fault_of_a_query_is_told_at_once(client):
    answer = await client.get("/v1/leads?limit=0&page=x&since=never&nope=1")
    refused(answer, 400, "unknown_parameter", "limit", "page", "since", "nope")


# Path -----------------------------------------------------------------------------------------------------------------

STRANGE_IDS = {
    "other type": "{conversation}", "upper case": "{upper}", "4 kB": "x" * 4096, "NUL": "{lead}%00",
    "slash": "{lead}%2F", "slash, small": "{lead}%2f", "only a slash": "%2F", "slash and more": "{lead}%2Fx",
    "two dots": "%2e%2e", "climbing": "..%2F{lead}", "emoji": "%F0%9F%98%80",
    "newline": "{lead}%0A", "space": "%20{lead}",
    "not UTF-8": "%FF", "semicolon": "{lead};x", "twice encoded": "{lead}%252F", "percent": "%25",
    "SQL": "'%20OR%20'1'='1", "no prefix": "{bare}", "too great": "lead_81jzzzzzzzzzzzzzzzzzzzzzzz",
}  # fmt: skip


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
async def test_a_strange_id_is_like_any_unknown_one(client, lead, method):
    sent = {"json": {"name": "Mallory"}} if method == "PATCH" else {}
    bodies = []
    for strange in (ids.new("lead"), *STRANGE_IDS.values()):
        path = strange.format(
            lead=lead.id, conversation=lead.conversation_id, upper=lead.id.upper(), bare=lead.id.partition("_")[2]
        )
        url = httpx.URL("http://test").copy_with(raw_path=b"/v1/leads/" + path.encode())
        answer = await client.request(method, url, **sent)
        refused(answer, 404, "not_found")
        bodies.append(answer.json() | {"request_id": ""})
    assert all(body == bodies[0] for body in bodies)
    assert (await client.get(f"/v1/leads/{lead.id}")).json()["data"]["name"] == "Ada"


async def test_a_strange_id_ends_no_conversation(client, lead):
    for strange in (lead.id, lead.conversation_id.upper(), "%00", f"{lead.conversation_id}%2F", "%F0%9F%98%80"):
        refused(await client.post(f"/v1/conversations/{strange}/end"), 404, "not_found")
    found = (await client.get(f"/v1/conversations/{lead.conversation_id}")).json()
    assert found["data"]["status"] == "active"


@pytest.mark.parametrize("path", ["/v1", "/v2/leads", "/v1/leads/a/b", "/v1/webhooks", "/%2e%2e/etc/passwd"])
async def test_a_path_that_is_not_there(client, path):
    refused(await client.get(path), 404, "not_found")


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST", "PATCH", "DELETE", "PUT"])
async def test_a_path_with_an_empty_step_is_not_there(client, lead, method):
    one, talk = f"/v1/leads/{lead.id}", f"/v1/conversations/{lead.conversation_id}"
    for path in (
        "/v1/", "/v1/leads/", "/v1/leads//", "/v1//leads", "//v1/leads", "/v1/leads/?limit=1", f"{one}/", f"{one}//",
        f"/v1/leads//{lead.id}", "/v1/conversations/", f"{talk}/", f"{talk}/end/", f"{talk}//end",
    ):  # fmt: skip
        answer = await client.request(method, f"http://test{path}")
        assert answer.status_code == 404, path
    assert (await client.get(one)).status_code == 200
    assert (await client.get(talk)).json()["data"]["status"] == "active"


@pytest.mark.parametrize("method", ["FOO", "TRACE", "CONNECT", "PUT"])
async def test_a_method_nobody_knows(client, method):
    answer = await client.request(method, "/v1/leads")
    refused(answer, 405, "method_not_allowed")
    assert "GET" in answer.headers["allow"]


# Body -----------------------------------------------------------------------------------------------------------------

NOT_JSON = {
    "empty": b"", "space": b" ", "truncated": b'{"name":', "trailing comma": b'{"name":"x",}', "two": b"{}{}",
    "comment": b"{}//", "single quotes": b"{'name':'x'}", "60,000 levels": b"[" * 60_000,
    "32,000 levels, closed": b'{"a":' + b"[" * 32_000 + b"]" * 32_000 + b"}", "NaN": b'{"score":NaN}',
    "Infinity": b'{"score":-Infinity}', "1e400": b'{"score":1e400}', "5,000 digits": b'{"score":' + b"9" * 5000 + b"}",
    "leading zero": b'{"score":01}', "not UTF-8": b'{"name":"\xff"}', "name not UTF-8": b'{"\xff":1}',
    "overlong": b'{"name":"\xc0\x80"}', "BOM": b"\xef\xbb\xbf{}", "UTF-16": '{"name":"x"}'.encode("utf-16"),
    "high surrogate": rb'{"name":"\ud800"}', "low surrogate": rb'{"name":"\udc00"}',
    "swapped": rb'{"a":"\udc00\ud800"}',
    "raw surrogate": b'{"name":"\xed\xa0\x80"}', "surrogate as a name": rb'{"\ud800":1}',
    "raw newline": b'{"name":"a\nb"}', "raw NUL": b'{"name":"\0"}', "gzip": gzip.compress(b"{}"), "form": b"name=x",
}  # fmt: skip


@pytest.mark.parametrize("case", NOT_JSON)
async def test_a_body_that_is_not_json(client, lead, case):
    answer = await client.patch(f"/v1/leads/{lead.id}", content=NOT_JSON[case], headers=JSON)
    refused(answer, 400, "malformed_json")


@pytest.mark.parametrize("body", [b"null", b"[]", b'"x"', b"1", b"true", b'[{"name":"x"}]'])
async def test_a_body_that_is_no_object(client, lead, body):
    answer = await client.patch(f"/v1/leads/{lead.id}", content=body, headers=JSON)
    refused(answer, 422, "validation_error", "")


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"custom_fields":{"n":-0}}', 0),
        (b'{"custom_fields":{"n":9007199254740993}}', 9007199254740993),
        (b'{"custom_fields":{"n":9223372036854775807}}', 9223372036854775807),
        (b'{"custom_fields":{"n":-9223372036854775808}}', -9223372036854775808),
        (b'{"custom_fields":{"n":1e308}}', 1e308),
        (b'{"custom_fields":{"n":0.1}}', 0.1),
        ('{"custom_fields":{"n":"﷽ \u2028 👩‍👩‍👧"}}'.encode(), "﷽ \u2028 👩‍👩‍👧"),
        (rb'{"custom_fields":{"n":"\ud83d\ude00"}}', "😀"),
        (b'{"custom_fields":{"n":"<script>alert(1)</script>"}}', "<script>alert(1)</script>"),
    ],
    ids=[
        "-0",
        "2^53+1",
        "2^63-1",
        "-2^63",
        "1e308",
        "0.1",
        "unicode",
        "surrogate pair",
        "markup",
    ],
)
async def test_what_looks_bad_and_is_not(client, lead, body, value):
    answer = await client.patch(f"/v1/leads/{lead.id}", content=body, headers=JSON)
    assert answer.status_code == 200, answer.text
    found = (await client.get(f"/v1/leads/{lead.id}")).json()["data"]["custom_fields"]["n"]
    assert (found, type(found)) == (value, type(value))


REPEATED_NAMES = {
    b'{"name":"a","name":"b"}': ["/name"],
    b'{"name":"a","name":"a"}': ["/name"],
    rb'{"name":"a","n\u0061me":"b"}': ["/name"],
    b'{"name":"a:b","company":"::","name":"c"}': ["/name"],
    b'{"custom_fields":{"n":"a","n":"b"}}': ["/custom_fields/n"],
    b'{"custom_fields":{"a/b":1,"a/b":2},"score":1,"custom_fields":{},"score":2}': [
        "/custom_fields",
        "/score",
        "/custom_fields/a~1b",
    ],
    b'{"id":"x","id":"x"}': ["/id"],
    b'{"":1,"":2}': ["/"],
}


@pytest.mark.parametrize("body", REPEATED_NAMES)
async def test_a_name_given_twice_in_a_body(client, lead, body):
    answer = await client.patch(f"/v1/leads/{lead.id}", content=body, headers=JSON)
    refused(answer, 422, "validation_error", *REPEATED_NAMES[body])
    assert {fault["code"] for fault in answer.json()["errors"]} == {"repeated_field"}


@pytest.mark.parametrize("value", ["https://a.example:8080/", "{::}", '{"a":1,"a":2}', ":\\", "name"])
async def test_colons_in_texts_repeat_no_name(client, lead, value):
    answer = await client.patch(f"/v1/leads/{lead.id}", json={"name": value, "custom_fields": {"a:b": value, ":": 1}})
    assert answer.status_code == 200, answer.text


async def test_64_kib_and_no_more(client, lead):
    url, body = f"/v1/leads/{lead.id}", b'{"name":"Grace"}'
    full = body + b" " * (65_536 - len(body))
    assert (await client.patch(url, content=full, headers=JSON)).status_code == 200
    for headers in (JSON, JSON | {"Idempotency-Key": "k"}, JSON | {"Content-Length": "9" * 30}):
        refused(await client.patch(url, content=full + b" ", headers=headers), 413, "body_too_large")

    async def chunks():
        for _ in range(17):
            yield b" " * 4096

    for headers in (JSON, JSON | {"Idempotency-Key": "in pieces"}):
        refused(await client.patch(url, content=chunks(), headers=headers), 413, "body_too_large")


@pytest.mark.parametrize(
    "kind",
    [
        None, "", "text/plain", "text/json", "application/jsonx", "*/*", "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded", "application/json; charset=latin1", "application/json; charset=utf-16",
        "application/json; charset=\xff", "application/json, text/plain", "application/xml", "json",
    ],
)  # fmt: skip
async def test_a_content_type_that_is_not_json(client, lead, kind):
    headers = [] if kind is None else [(b"Content-Type", kind.encode("latin-1"))]
    answer = await client.patch(f"/v1/leads/{lead.id}", content=b'{"name":"x"}', headers=headers)
    refused(answer, 415, "unsupported_media_type")
    assert "application/merge-patch+json" in answer.headers["accept-patch"]


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate", "x-gzip", "gzip, gzip"])
async def test_a_compressed_body(client, lead, encoding):
    headers = JSON | {"Content-Encoding": encoding}
    answer = await client.patch(f"/v1/leads/{lead.id}", content=gzip.compress(b"{}"), headers=headers)
    refused(answer, 415, "unsupported_media_type")
    assert answer.headers["accept-encoding"] == "identity"


# Fields ---------------------------------------------------------------------------------------------------------------

WRONG_FIELDS = {
    "name": [5, True, [], {}, "x" * 201, "\0", "a\x07", "a\nb", "Ada\n", "\x7f", "\x85", "\u202eabc", "\u2066abc"],
    "company": [1.5, "x" * 201, "a\tb"],
    "email": [
        5, {}, "x", "x@", "@x.com", "a b@x.com", "a@x..com", ".a@x.com", '"a b"@example.com', "a@localhost",
        "a@[127.0.0.1]", "a@b.com,c@d.com", "Ada <a@b.com>", "mailto:a@b.com", "a@b.com\n", "a@b.com\0",
        "a" * 250 + "@b.com", "a" * 65 + "@b.com", "ä" * 33 + "@b.com",
        "a@-b.com", "a@b_c.com", "a@" + ".".join(["ü" * 50] * 4) + ".com", "",
    ],
    "phone": [
        5, {}, [], "abc", "12", "²²²²", "exte123", "<b>123456</b>", "1" * 33, "+44 20 7946 0000\0", "call me 123",
    ],
    "score": [101, -1, 1.5, "50", True, None, [], 2**63],
    "custom_fields": [
        [], "x", 5, {"": "x"}, {"k" * 65: 1}, {"a": {}}, {"a": []}, {"a": {"b": 1}}, {"a": "x" * 1001}, {"a": "\0"},
        {"a\0": "x"}, {"plan\n": "x"}, {"a\u202e": "x"}, {f"k{n}": 1 for n in range(51)}, {"b": [None], "c": 1},
        {"n": 2**63}, {"n": -(2**63) - 1}, {"n": 10**308}, {"n": 10**309}, {"n": 10**1000},
    ],
}  # fmt: skip


@pytest.mark.parametrize("field", WRONG_FIELDS)
async def test_a_wrong_value_of_a_field(client, lead, field):
    await make.emitted(forget=True)
    before = (await client.get(f"/v1/leads/{lead.id}")).json()
    for value in WRONG_FIELDS[field]:
        answer = await client.patch(f"/v1/leads/{lead.id}", json={field: value})
        entry = "/" + next(iter(value))[:100] if isinstance(value, dict) and value and len(value) < 50 else ""
        refused(answer, 422, "validation_error", f"/{field}{entry if field == 'custom_fields' else ''}")
    assert (await client.get(f"/v1/leads/{lead.id}")).json() == before
    assert await make.emitted() == []


@pytest.mark.parametrize(
    ("field", "value", "stored"),
    [
        ("email", "ada@BÜCHER.example", "ada@bücher.example"),
        ("email", "ädä@example.com", "ädä@example.com"),
        ("email", "Ada+tag@Example.COM", "Ada+tag@example.com"),
        ("email", "ada@office.local", "ada@office.local"),
        ("email", "a" * 64 + "@b.com", "a" * 64 + "@b.com"),
        ("phone", "+1 (555) 010-0999", "+15550100999"),
        ("phone", "020 7946 0000", "020 7946 0000"),
        ("phone", "020 7946 0000 ext. 5", "020 7946 0000 ext. 5"),
        ("phone", "020 7946 0000x5", "020 7946 0000x5"),
        ("phone", "+44 20 7946 0000\t", None),
    ],
)
async def test_addresses_and_numbers_in_their_normal_form(client, lead, field, value, stored):
    answer = await client.patch(f"/v1/leads/{lead.id}", json={field: value})
    if stored is None:
        refused(answer, 422, "validation_error", f"/{field}")
    else:
        assert (answer.status_code, answer.json()["data"][field]) == (200, stored)


@pytest.mark.parametrize("name", ["nmae", "", "__proto__", "version", "workspace_id", "\0", "a/b~c", "Name", "😀"])
async def test_an_unknown_field(client, lead, name):
    answer = await client.patch(f"/v1/leads/{lead.id}", json={"name": "x", name: {}})
    refused(answer, 422, "unknown_field", "/" + name.replace("~", "~0").replace("/", "~1"))
    assert (await client.get(f"/v1/leads/{lead.id}")).json()["data"]["name"] == "Ada"


@pytest.mark.parametrize(
    ("field", "value"),
    [("id", "x"), ("id", None), ("bot_id", []), ("source", {}), ("conversation_id", 5), ("created_at", "2026-01-01")],
)
async def test_a_read_only_field_with_another_value(client, lead, field, value):
    answer = await client.patch(f"/v1/leads/{lead.id}", json={"name": "x", field: value})
    refused(answer, 422, "read_only_field", f"/{field}")


async def test_every_fault_of_a_body_is_told_at_once(client, lead):
    answer = await client.patch(f"/v1/leads/{lead.id}", json={"name": 5, "nmae": 1, "score": 101, "company": "ok"})
    refused(answer, 422, "validation_error", "/name", "/nmae", "/score")


async def test_three_thousand_faults_do_not_make_a_large_answer(client, lead):
    answer = await client.patch(f"/v1/leads/{lead.id}", json={f"field{n}": 1 for n in range(3000)})
    refused(answer, 422, "unknown_field")
    assert len(answer.json()["errors"]) == 50
    assert answer.json()["detail"].startswith("3000 fields")


# Headers --------------------------------------------------------------------------------------------------------------

BAD_AUTHORIZATION = {
    "none": [], "empty": [b""], "no token": [b"Bearer"], "spaces": [b"Bearer    "], "Basic": [b"Basic bHc6eA=="],
    "no scheme": [b"{key}"], "twice": [b"Bearer {key}", b"Bearer {key}"], "two in one": [b"Bearer {key}, Bearer {key}"],
    "tab": [b"Bearer\t{key}"], "inner space": [b"Bearer {key} x"], "8 kB": [b"Bearer " + b"x" * 8192],
    "not ASCII": ["Bearer ключ".encode()],
    "bytes": [b"Bearer \xff\xfe"], "NUL": [b"Bearer {key}\0"], "quotes": [b'Bearer "{key}"'],
    "upper": [b"Bearer {KEY}"],
    "other scheme": [b"Token {key}"], "bare id": [b"Bearer lw_abcdefgh"],
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_AUTHORIZATION)
async def test_authorization_that_is_none(anonymous, api_key, case):
    key = api_key.encode()
    values = [value.replace(b"{key}", key).replace(b"{KEY}", key.upper()) for value in BAD_AUTHORIZATION[case]]
    answer = await anonymous.get("/v1/leads?limit=bad", headers=[(b"Authorization", value) for value in values])
    refused(answer, 401, "unauthenticated")
    assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_authorization_with_more_after_the_key(anonymous, api_key):
    answer = await anonymous.get("/v1/leads", headers={"Authorization": f"Bearer {api_key}{' ' * 200}x"})
    refused(answer, 401, "unauthenticated")


@pytest.mark.parametrize("form", ["Bearer {}", "bearer {}", "BEARER {}", "Bearer   {}", "Bearer {}  "])
async def test_authorization_as_some_write_it(anonymous, api_key, form):
    answer = await anonymous.get("/v1/leads", headers={"Authorization": form.format(api_key)})
    assert answer.status_code == 200


@pytest.mark.parametrize("where", ["?api_key={}", "?access_token={}", "?key={}"])
async def test_a_key_in_the_query_is_not_looked_at(anonymous, api_key, where):
    refused(await anonymous.get("/v1/leads" + where.format(api_key)), 401, "unauthenticated")


async def test_nobody_without_a_key_learns_what_is_there(anonymous, lead):
    answers = [
        await anonymous.request(method, path, **sent)
        for method, path, sent in (
            ("GET", "/v1/leads?limit=bad", {}),
            ("GET", f"/v1/leads/{lead.id}", {}),
            ("GET", f"/v1/leads/{ids.new('lead')}", {}),
            ("PATCH", f"/v1/leads/{lead.id}", {"content": b"{", "headers": {"Content-Type": "text/plain"}}),
            ("DELETE", f"/v1/leads/{lead.id}", {"headers": {"Idempotency-Key": ""}}),
            ("GET", "/v1/conversations?x=1", {}),
            ("GET", f"/v1/conversations/{lead.conversation_id}", {}),
            ("POST", f"/v1/conversations/{lead.conversation_id}/end", {}),
        )
    ]
    for answer in answers:
        refused(answer, 401, "unauthenticated")
    assert len({json.dumps(answer.json() | {"request_id": ""}) for answer in answers}) == 1


@pytest.mark.parametrize("kept", ["abc", "A.b_c:d-9", "x" * 100])
async def test_a_sane_request_id_is_kept(client, kept):
    answer = await client.get("/v1/leads?limit=0", headers={"X-Request-Id": kept})
    assert answer.headers["x-request-id"] == answer.json()["request_id"] == kept


@pytest.mark.parametrize(
    "bad",
    [b"", b"x" * 101, b"x" * 10_240, b"a b", b"a\nSet-Cookie: x=1", b"a\r\nb", b"\xff", "ключ".encode(), b"<script>",
     b"a\n"],
    ids=["empty", "101", "10 kB", "space", "newline", "CRLF", "byte", "not ASCII", "markup", "newline at the end"],
)  # fmt: skip
async def test_a_request_id_that_is_not_sane_is_replaced(client, bad):
    answer = await client.get("/v1/leads", headers=[(b"X-Request-Id", bad)])
    assert answer.status_code == 200
    assert answer.headers["x-request-id"].startswith("req_")
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (b"", 200), (b"evil.example", 200), (b"test:99999", 200), (b"[::1", 200), (b"x" * 5000, 200),
        (b"a b", 400), (b"a/b", 400), (b"\xff", 400),
    ],
    ids=["none", "other", "port", "bracket", "long", "space", "slash", "byte"],
)  # fmt: skip
async def test_an_odd_host_leads_nowhere(client, host, status):
    answer = await client.get("/v1/leads?limit=1", headers=[(b"Host", host)])
    if status == 200:
        assert answer.status_code == 200
        assert answer.headers["link"].startswith("</v1/leads?limit=1&page=1>")
    else:
        refused(answer, 400, "invalid_parameter")


async def test_a_forged_address_does_not_escape_the_throttle(anonymous, no_refill):
    for n in range(60):
        await anonymous.get("/v1/leads", headers={"X-Forwarded-For": f"192.0.2.{n}", "Forwarded": f"for=192.0.2.{n}"})
    answer = await anonymous.get("/v1/leads", headers={"X-Forwarded-For": "192.0.2.99"})
    refused(answer, 429, "rate_limited")


async def test_a_method_cannot_be_smuggled_in_a_header(client, lead):
    for name in ("X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method"):
        assert (await client.get(f"/v1/leads/{lead.id}", headers={name: "DELETE"})).status_code == 200
    assert (await client.get(f"/v1/leads/{lead.id}")).status_code == 200


# On a socket: what a well-behaved client cannot send -----------------------------------------------------------------


@pytest.fixture
async def port(database):
    """The port of a real server, with the settings of `leadwire serve`."""
    stop, listening = asyncio.Event(), bind("127.0.0.1", 0)
    serving = asyncio.create_task(serve_until(stop, asgi.app(), listening, limits=Settings()))
    yield listening.getsockname()[1]
    stop.set()
    await serving


@asynccontextmanager
async def connection(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def exchange(port, request):
    """Everything the server answers to these bytes before it closes: status, head, body."""
    async with connection(port) as (reader, writer):
        writer.write(request)
        answer = await asyncio.wait_for(reader.read(-1), 240)
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), head.lower(), body


def request(key, method="GET", path="/v1/leads", headers=b"", body=b""):
    start = f"{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n"
    return start.encode() + headers + b"\r\n" + body


async def test_on_a_socket_head_has_no_body_and_the_connection_goes_on(port, api_key, lead):
    path = f"/v1/leads/{lead.id}"
    status, head, body = await exchange(port, request(api_key, "HEAD", path))
    full_status, full_head, full = await exchange(port, request(api_key, "GET", path))
    assert (status, body) == (full_status, b"") == (200, b"")
    assert f"content-length: {len(full)}".encode() in head
    assert full_head.count(b"x-request-id") == 1
    both = request(api_key, "HEAD", path).replace(b"Connection: close\r\n", b"") + request(api_key, "GET", path)
    async with connection(port) as (reader, writer):
        writer.write(both)
        answers = await asyncio.wait_for(reader.read(-1), 240)
    assert answers.count(b"HTTP/1.1 200 OK") == 2
    assert answers.endswith(full)


async def test_on_a_socket_a_token_of_8_kb(port):
    status, _, body = await exchange(port, request("x" * 8192))
    assert (status, json.loads(body)["code"]) == (401, "unauthenticated")


async def test_on_a_socket_a_query_of_128_kb(port, api_key):
    status, _, _ = await exchange(port, request(api_key, path="/v1/leads?limit=" + "5" * 131_072))
    assert status in (400, 414, 431)


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
        b"Content-Length: 2\r\nContent-Length: 30\r\n",
        b"Content-Length: -2\r\n",
        b"Content-Length: +2\r\n",
        b"Content-Length: 2, 30\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding : chunked\r\n",
        b" Transfer-Encoding: chunked\r\n",
    ],
)
async def test_on_a_socket_a_request_of_two_lengths_is_refused_and_cut_off(port, api_key, lead, headers):
    """Else a proxy before us could see one request where we see two."""
    smuggled = request(api_key, "DELETE", f"/v1/leads/{lead.id}")
    headers = b"Content-Type: application/json\r\n" + headers
    sent = request(api_key, "PATCH", f"/v1/leads/{lead.id}", headers, b"{}" + smuggled)
    status, _, _ = await exchange(port, sent.replace(b"Connection: close\r\n", b"", 1))
    assert 400 <= status < 500
    assert (await exchange(port, request(api_key, "GET", f"/v1/leads/{lead.id}")))[0] == 200


@pytest.mark.parametrize("key", [b"", b"Idempotency-Key: k\r\n"])
async def test_on_a_socket_a_chunked_body_without_end(port, api_key, lead, key):
    headers = b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n" + key
    endless = b"".join(b"1000\r\n" + b" " * 4096 + b"\r\n" for _ in range(17))
    status, _, body = await exchange(port, request(api_key, "PATCH", f"/v1/leads/{lead.id}", headers, endless))
    assert (status, json.loads(body)["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("key", [b"", b"Idempotency-Key: k\r\n"])
@pytest.mark.parametrize("length", [b"Transfer-Encoding: chunked\r\n", b"Content-Length: 50\r\n"])
async def test_on_a_socket_a_caller_who_hangs_up_is_no_error_of_ours(port, api_key, lead, key, length, caplog):
    headers = b"Content-Type: application/json\r\n" + length + key
    part = b'5\r\n{"nam\r\n' if b"chunked" in length else b'{"nam'
    async with connection(port) as (_, writer):
        writer.write(request(api_key, "PATCH", f"/v1/leads/{lead.id}", headers, part))
        await writer.drain()
        assert (await exchange(port, request(api_key)))[0] == 200  # by now the other one is being read
    assert (await exchange(port, request(api_key, "GET", f"/v1/leads/{lead.id}")))[0] == 200
    whole = b"Content-Type: application/json\r\nContent-Length: 2\r\n" + key
    assert (await exchange(port, request(api_key, "PATCH", f"/v1/leads/{lead.id}", whole, b"{}")))[0] == 200
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("value", [b"a\rSet-Cookie: x=1", b"a\nSet-Cookie: x=1", b"a\0b", b"a\r\n Set-Cookie: x=1"])
async def test_on_a_socket_nothing_is_injected_by_a_request_id(port, api_key, value):
    status, head, _ = await exchange(port, request(api_key, headers=b"X-Request-Id: " + value + b"\r\n"))
    assert status in (200, 400)
    assert b"set-cookie" not in head


@pytest.mark.parametrize("start", [b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/9.9\r\n\r\n", b"\0" * 100])
async def test_on_a_socket_what_is_not_http(port, start):
    status, _, _ = await exchange(port, start)
    assert status == 400

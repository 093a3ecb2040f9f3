"""The examples of the API, sent as they are written; and the table of routes, compared with the OpenAPI document."""

import re

import pytest

from leadwire.domain.conversations import changes as conversations
from leadwire.domain.exports import changes as exports
from tests import make
from tests.docs.commands import DOCS, ROOT, commands

API = DOCS / "api.md"
TEXT = API.read_text()


def request(words, values):
    """A command line of curl as method, URL, headers and body."""
    method, headers, body, url = "GET", {}, None, ""
    rest = iter([re.sub(r"\$([A-Z]+)", lambda name: values[name[1]], word) for word in words[1:]])
    for word in rest:
        if word == "-H":
            name, value = next(rest).split(": ", 1)
            headers[name] = value
        elif word == "-X":
            method = next(rest)
        elif word == "-d":
            body = next(rest)
        elif word not in ("-s", "--compressed"):
            assert not url, words
            url = word
    return method, url, headers, body


async def test_every_request_is_answered(anonymous, api_key, workspace, bot):
    lead = await make.lead(workspace, bot, score=80, custom_fields={"old": 1})
    conversation = await make.conversation(workspace, bot)
    await conversations.hand_off(workspace, conversation, "why")
    values = {"KEY": api_key, "URL": "http://test", "LEAD": lead.id, "CONVERSATION": conversation}
    values["EXPORT"] = (await exports.create(workspace, "leads", "ndjson", "")).id
    requests = [request(words, values) for words in commands(API) if words[0] == "curl"]
    assert len(requests) == TEXT.count("curl -s") == 15
    answers = [
        await anonymous.request(method, url, headers=headers, content=body) for method, url, headers, body in requests
    ]
    assert [answer.status_code for answer in answers] == [*[200] * 13, 202, 200], [answer.text for answer in answers]
    *answers, made, file = answers
    listed, one, patched, deleted, waiting, talk, ended, found, words, best, changed, *events = (
        one.json() for one in answers
    )
    assert [found["id"] for found in listed["data"]] == [one["data"]["id"]] == [lead.id]
    assert (patched["data"]["name"], patched["data"]["custom_fields"]) == ("Grace Hopper", {"stage": "won"})
    assert deleted["data"] == {"id": lead.id, "deleted": True}
    assert [found["id"] for found in waiting["data"]] == [talk["data"]["id"]] == [conversation]
    assert ended["data"]["status"] == "ended"
    assert found["data"] == words["data"] == best["data"] == changed["data"] == [], "the lead was deleted above"
    assert made.json()["data"]["state"] == "ready"
    assert file.content == b"", "as above"
    assert "conversation.started" in {event["event"] for event in events[1]["data"]}
    assert best["meta"]["next_cursor"] is changed["meta"]["next_cursor"] is None


async def test_the_request_of_the_tour_changes_a_lead(anonymous, api_key, workspace, bot):
    values = {"KEY": api_key, "URL": "http://test", "LEAD": (await make.lead(workspace, bot)).id}
    ((method, url, headers, body),) = [
        request(words, values) for words in commands(ROOT / "README.md") if words[0] == "curl"
    ]
    answer = await anonymous.request(method, url, headers=headers, content=body)
    assert answer.json()["data"]["custom_fields"] == {"stage": "won"}


async def test_the_error_that_is_shown_is_the_one_that_comes(client):
    shown = re.search(r"```json\n(.+?)```", TEXT, re.DOTALL)[1]
    answer = await client.get("/v1/leads?score-min=1")
    for name in ("type", "title", "status", "detail", "code"):
        assert f'"{name}": "{answer.json()[name]}"' in shown or f'"{name}": {answer.json()[name]}' in shown, name


def test_the_codes_of_single_values_are_those_that_are_given():
    rows = re.findall(r"^\| (`[a-z_` ]+) \|", TEXT.partition("## Errors")[2], re.MULTILINE)
    shown = set(re.findall("`([a-z_]+)`", " ".join(rows[1:])))
    folders = (DOCS.parent / name for name in ("domain/leads", "domain/listing", "domain/search", "interfaces/http"))
    text = "".join(path.read_text() for folder in folders for path in folder.glob("*.py"))
    given = {*re.findall(r'FieldError\(\s*"(\w+)"|refused\(\s*"\w+", "(\w+)"|, "(\w+)", "Must ', text)}
    made = {"invalid_email", "invalid_phone", "wrong_type"}  # of other forms
    assert {*map("".join, given)} - {"invalid_field"} | made == shown, "but for that of a screen"


@pytest.fixture
async def described(anonymous):
    return (await anonymous.get("/schema")).json()


async def test_the_table_of_routes_is_the_documents(described):
    rows = re.findall(r"^\| `([A-Z]+) (/v1/\S+)` \| `(\S+)` \| (.+?) \|", TEXT, re.MULTILINE)
    there = {(method.upper(), path): one for path, item in described["paths"].items() for method, one in item.items()}
    shown = {(method, re.sub(r"\{\w+\}", "{}", path)) for method, path, *_ in rows}
    assert shown == {(method, re.sub(r"\{\w+\}", "{}", path)) for method, path in there if path.startswith("/v1/")}

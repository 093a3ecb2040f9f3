"""The TypeScript client: built from the document that is served, and run by Node.js on a real server of the API."""

import asyncio
import itertools
import json
import re
import time
import tomllib
from pathlib import Path

import msgspec
import pytest

from leadwire.delivery import signing
from leadwire.infrastructure import db
from leadwire.interfaces.docs import markdown, reference
from tests import make, npm
from tests.client.conftest import base_url  # noqa: F401 - a fixture
from tests.serving import on_socket

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "leadwire_client_ts"
TYPES = Path(__file__).with_name("types.ts")
SAMPLES = tomllib.loads((Path(reference.__file__).parent / "samples.toml").read_text())
SECRET = "whsec_" + "c2VjcmV0IG9mIGF0IGxlYXN0IDI0IGJ5dGVz"


async def installed(anonymous, directory):
    """Make the package importable for programs in a directory: built once from the document that is served."""
    document = (await anonymous.get("/schema")).content
    files = {str(path.relative_to(PACKAGE)): path.read_bytes() for path in PACKAGE.rglob("*") if path.is_file()}
    files = {name: content for name, content in files.items() if not name.startswith(("dist/", "node_modules/"))}
    files |= {"openapi.json": document, "src/types.ts": TYPES.read_bytes()}
    built = await npm.folder(files, ("npm", "run", "build"))
    (directory / "node_modules" / "@leadwire").mkdir(parents=True)
    (directory / "node_modules" / "@leadwire" / "client").symlink_to(built)


@pytest.fixture
async def run(anonymous, tmp_path):
    """Run a program that may import `@leadwire/client`. Return what it prints, line by line."""
    await installed(anonymous, tmp_path)

    async def ran(program, **settings):
        (tmp_path / "program.mjs").write_text(program)
        async with asyncio.timeout(120):
            code, said = await npm.run(tmp_path, "node", "program.mjs", **settings)
        assert code == 0, said
        return said.splitlines()

    return ran


HEAD = """import { Leadwire, LeadwireError, InvalidSignature, Unreachable, verify } from "@leadwire/client";
const { KEY, URL: BASE, LEAD, CONVERSATION, BOT, EVENT } = process.env;
const say = (...things) => console.log(JSON.stringify(things.length === 1 ? things[0] : things));
const lw = new Leadwire(KEY ?? "lw_1", BASE ?? "http://127.0.0.1:1", { retry: { firstWait: 1 } });
"""


async def test_every_sample_of_the_reference_works(run, base_url, workspace, bot, api_key):  # noqa: F811
    lead, conversation = await make.lead(workspace, bot, score=80), await make.conversation(workspace, bot)
    event = (await db.rows("SELECT id FROM event ORDER BY id"))[0]["id"]
    names = sorted(SAMPLES, key=lambda name: name.startswith(("delete", "end", "cancel")))
    program = (
        HEAD
        + 'const EXPORT = (await lw.exports.create({ type: "leads" })).id;'
        + "\n".join(f"{{ {SAMPLES[name]['typescript']} }}" for name in names)
    )
    said = await run(program, KEY=api_key, URL=base_url, LEAD=lead.id, CONVERSATION=conversation, BOT=bot, EVENT=event)
    assert f"{lead.email} 80" in said


async def test_it_walks_changes_and_tells_errors(run, base_url, workspace, bot, api_key):  # noqa: F811
    made = [await make.lead(workspace, bot, email=f"{number}@example.com") for number in range(3)]
    program = (
        HEAD
        + """
const ids = [];
for await (const lead of lw.leads.list({ limit: 1, sort: "created_at" })) ids.push(lead.id);
say(ids);
const lead = await lw.leads.get(LEAD);
const changed = await lw.leads.update(lead.id, { score: 77 }, { ifMatch: lead });
say(changed.score, changed.etag !== lead.etag);
const told = ({ name, status = 0, code = "", errors = [] }) =>
  say(name, status, code, errors.map((one) => one.pointer));
await lw.leads.update(lead.id, { score: 1 }, { ifMatch: lead }).catch(told);
await lw.leads.get("lead_x").catch(told);
await lw.leads.update(lead.id, { score: 1000 }).catch(told);
await lw.leads.get("").catch(told);
say(await lw.leads.delete(LEAD));
"""
    )
    said = [json.loads(line) for line in await run(program, KEY=api_key, URL=base_url, LEAD=made[0].id)]
    assert said == [
        [one.id for one in made],
        [77, True],
        ["LeadwireError", 412, "precondition_failed", []],
        ["LeadwireError", 404, "not_found", []],
        ["LeadwireError", 422, "validation_error", ["/score"]],
        ["TypeError", 0, "", []],
        {"id": made[0].id, "deleted": True},
    ]


async def test_a_download_that_breaks_off_is_resumed(run):
    """The first answer ends amid the second row, the second before the third."""
    rows = [
        json.dumps({"id": f"lead_{number}", "created_at": f"2026-01-0{number}"}).encode() + b"\n"
        for number in (1, 2, 3)
    ]
    asked = []

    async def app(scope, receive, send):
        asked.append(scope["query_string"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1000")]})
        body = [rows[0] + rows[1][:20], rows[1], rows[2]][len(asked) - 1]
        if len(asked) == 3:
            body += b" " * (1000 - len(body))
        await send({"type": "http.response.body", "body": body, "more_body": True})
        if len(asked) == 3:
            await send({"type": "http.response.body", "body": b""})
        else:
            raise ConnectionResetError

    program = (
        HEAD
        + """
const made = { id: "exp_1", resume_by: ["created_at", "id"] };
for await (const row of lw.exports.rows(made)) say(row.id);
"""
    )
    async with on_socket(app) as address:
        assert await run(program, KEY="lw_1", URL=address) == ['"lead_1"', '"lead_2"', '"lead_3"']
    assert asked == [b"", b"after=2026-01-01%2Clead_1", b"after=2026-01-02%2Clead_2"]


async def test_a_body_that_stands_still_is_asked_for_again_and_a_signal_ends_it(run):
    """Each first answer begins and never ends; so does the third download."""
    asked = {}

    async def app(scope, receive, send):
        path = scope["path"]
        asked[path] = asked.get(path, 0) + 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        row = b'{"id": "lead_%d", "created_at": "2026-01-01"}\n' % asked[path]
        body, whole = row if "download" in path else b'{"data": {"id": "key_1"}}', asked[path] == 2
        part = body if whole else body + b"{"
        await send({"type": "http.response.body", "body": part, "more_body": not whole})
        while not whole and (await receive())["type"] != "http.disconnect":
            pass

    program = (
        HEAD
        + """
const quick = new Leadwire(KEY, BASE, { timeout: 500, retry: { firstWait: 1 } });
say((await quick.me.get()).id);
const made = { id: "exp_1", resume_by: ["created_at", "id"] };
for await (const row of quick.exports.rows(made)) say(row.id);
const stop = new AbortController(), patient = new Leadwire(KEY, BASE, { timeout: 600_000 });
try {
  for await (const row of patient.exports.rows(made, {}, { signal: stop.signal })) stop.abort(new Error(row.id));
} catch (error) { say(error.message); }
"""
    )
    async with on_socket(app) as address:
        said = await run(program, KEY="lw_1", URL=address)
    assert said == ['"key_1"', '"lead_1"', '"lead_2"', '"lead_3"']
    assert asked == {"/v1/me": 2, "/v1/exports/exp_1/download": 3}


async def test_it_repeats_a_change_under_one_key_and_gives_up_in_words(run):
    """Two answers say 503, the third is good; then only 503s, then nobody is there."""
    seen, bad = [], [503, 503]

    async def app(scope, receive, send):
        headers = dict(scope["headers"])
        seen.append((scope["method"], headers.get(b"idempotency-key")))
        status = 503 if len(seen) > 3 else bad.pop(0) if bad else 200
        body = {"data": {"id": "lead_1", "deleted": True}} if status == 200 else {
            "code": "unavailable", "title": "t", "request_id": "req_1", "detail": "d",
        }  # fmt: skip
        more = [(b"retry-after", b"0")] if status == 503 else []
        await send({"type": "http.response.start", "status": status, "headers": more})
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})

    program = (
        HEAD
        + """
say(await lw.leads.delete("lead_1"));
await lw.me.get().catch((error) => say(error.name, error.code, error.requestId));
const nobody = new Leadwire(KEY, "http://127.0.0.1:1", { retry: { attempts: 2, firstWait: 1 } });
await nobody.me.get().catch((error) => say(error.name, error instanceof LeadwireError, error instanceof Unreachable));
const asked = async (url) => { say(new URL(url).searchParams.get("wait")); throw new TypeError("no"); };
const brief = new Leadwire(KEY, BASE, { timeout: 10_000, retry: { attempts: 1 }, fetch: asked });
await brief.events.list({ follow: true }).next().catch((error) => say(error.name));
const stop = new AbortController();
stop.abort(new Error("enough"));
await lw.me.get({ signal: stop.signal }).catch((error) => say(error.message));
"""
    )
    async with on_socket(app) as address:
        said = [json.loads(line) for line in await run(program, KEY="lw_1", URL=address)]
    assert said == [
        {"id": "lead_1", "deleted": True},
        ["LeadwireError", "unavailable", "req_1"],
        ["Unreachable", True, True],
        "6",
        "Unreachable",
        "enough",
    ]
    assert [method for method, _ in seen] == ["DELETE"] * 3 + ["GET"] * 4
    assert len({key for _, key in seen[:3]}) == 1
    assert seen[0][1]


async def test_it_follows_events_as_they_come(run, base_url, workspace, bot, api_key):  # noqa: F811
    await make.lead(workspace, bot)
    program = (
        HEAD
        + """
let cursor = "first";
const types = "lead.created";
for await (const event of lw.events.list({ types })) cursor = event.id;
for await (const event of lw.events.list({ cursor, types, follow: true })) {
  say(event.event, event.data.email);
  break;
}
"""
    )
    running = asyncio.create_task(run(program, KEY=api_key, URL=base_url))
    for number in itertools.count():  # whenever it has begun to wait
        await make.lead(workspace, bot, email=f"late{number}@example.com")
        await asyncio.wait([running], timeout=1)
        if running.done():
            break
    kind, email = json.loads((await running)[-1])
    assert (kind, email[:4]) == ("lead.created", "late")


async def test_it_verifies_as_the_server_signs(run):
    body = '{"event":"lead.deleted","timestamp":"2026-01-02T03:04:05.678Z","data":{"id":"lead_ü","deleted":true}}'
    other = signing.new_secret()

    def signed(secret, staged=None, at=None):
        headers = signing.headers(
            event_id="evt_1", body=body.encode(), secret=secret, staged=staged, at=at or int(time.time()), attempt=1,
            prefix="X-Service-",
        )  # fmt: skip
        return dict(headers)

    cases = [
        (signed(SECRET), [SECRET], body, "lead.deleted"),
        (signed(SECRET, staged=other), [other], body, "lead.deleted"),
        (signed(SECRET), [other, SECRET], body, "lead.deleted"),
        (signed(SECRET), [other], body, "InvalidSignature"),
        (signed(SECRET), [SECRET], body + " ", "InvalidSignature"),
        (signed(SECRET, at=int(time.time()) - 400), [SECRET], body, "InvalidSignature"),
        (signed(SECRET, at=int(time.time()) + 400), [SECRET], body, "InvalidSignature"),
        ({}, [SECRET], body, "InvalidSignature"),
        ({**signed(SECRET), "webhook-signature": "v1,§ v1a,x nonsense"}, [SECRET], body, "InvalidSignature"),
        (signed(SECRET), ["whsec_c2hvcnQ="], body, "TypeError"),
    ]
    program = (
        HEAD
        + f"""
for (const [headers, secrets, body] of {json.dumps([case[:3] for case in cases])}) {{
  for (const given of [body, new TextEncoder().encode(body)])
    await verify(given, headers, secrets).then(
      (event) => say(event.kind, event.data.id, event.timestamp),
      (error) => say(error.name),
    );
}}
await verify("", new Headers(), []).catch((error) => say(error.message));
for (const given of [[undefined, BASE], [KEY, undefined]])
  try {{ new Leadwire(...given); }} catch (error) {{ say(error.message); }}
"""
    )
    said = [json.loads(line) for line in await run(program)]
    expected = [one for *_, said in cases for one in [said] * 2]
    missing = ["there is no secret", "the API key is missing", "the API key is missing"]
    assert [one[0] if isinstance(one, list) else one for one in said] == [*expected, *missing]
    assert said[0] == ["lead.deleted", "lead_ü", "2026-01-02T03:04:05.678Z"]


def test_the_package_is_what_the_clients_page_says():
    described = msgspec.json.decode((PACKAGE / "package.json").read_bytes())
    assert described["version"] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert described["name"] in (markdown._FOLDER / "clients.md").read_text()
    assert not described.get("dependencies")


async def test_the_programs_of_the_documentation_work(run, base_url, workspace, bot, api_key):  # noqa: F811
    await make.lead(workspace, bot, score=80)
    (program,) = re.findall(r"```ts\n(.+?)```", (markdown._FOLDER / "clients.md").read_text(), re.DOTALL)
    assert (await run(program, KEY=api_key, URL=base_url))[-1].startswith("not_found req_")
    assert (await make.emitted())[-1]["data"]["custom_fields"] == {"stage": "won"}

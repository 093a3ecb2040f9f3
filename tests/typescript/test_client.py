"""The TypeScript client: built from the document that is served, and run by Node.js on a real server of the API."""

import asyncio
import base64
import hmac
import itertools
import json
import re
import shutil
import time
import tomllib
from pathlib import Path

import msgspec
import pytest

from leadwire.delivery import signing
from leadwire.domain.webhooks import changes, reads
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import db
from leadwire.interfaces.docs import clients, markdown, reference
from leadwire_client import AsyncLeadwire, Invalid
from tests import asgi, make, npm
from tests.client.conftest import base_url  # noqa: F401 - a fixture
from tests.client.feed import EVENTS, Feed
from tests.serving import on_socket

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "leadwire_client_ts"
TYPES = Path(__file__).with_name("types.ts")
SAMPLES = tomllib.loads((Path(reference.__file__).parent / "samples.toml").read_text())
SECRET = "whsec_" + "c2VjcmV0IG9mIGF0IGxlYXN0IDI0IGJ5dGVz"


async def installed(anonymous, directory):
    """Make the package importable for programs in a directory: built once from the document that is served."""
    document = (await anonymous.get("/schema")).json()
    files = {str(path.relative_to(PACKAGE)): path.read_bytes() for path in PACKAGE.rglob("*") if path.is_file()}
    files = {name: content for name, content in files.items() if not name.startswith(("lib/", "node_modules/"))}
    files |= {"src/schema.d.ts": clients.types(document).encode(), "src/types.ts": TYPES.read_bytes()}
    built = await npm.folder(files, ("npm", "run", "build"))
    (directory / "node_modules" / "@leadwire").mkdir(parents=True)
    (directory / "node_modules" / "@leadwire" / "client").symlink_to(built)
    return built


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


HEAD = """import { Leadwire, LeadwireError, InvalidSignature, publicKeys, Unreachable, verify } from "@leadwire/client";
const { KEY, URL: BASE, LEAD, CONVERSATION, BOT, EVENT } = process.env;
const say = (...things) => console.log(JSON.stringify(things.length === 1 ? things[0] : things));
const lw = new Leadwire(KEY ?? "lw_1", BASE ?? "http://127.0.0.1:1", { retry: { attempts: 4, firstWait: 1 } });
"""
SAMPLE = """import {{ type Export, Leadwire }} from "@leadwire/client";
declare const lw: Leadwire, LEAD: string, CONVERSATION: string, BOT: string, EVENT: string, EXPORT: string;
{}
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


async def test_the_programs_of_the_documents_are_typed(anonymous, tmp_path):
    built = await installed(anonymous, tmp_path)
    package = tmp_path / "node_modules" / "@leadwire" / "client"
    package.unlink()  # which other tests use, too
    shutil.copytree(built / "lib", package / "lib")
    shutil.copy(built / "package.json", package)
    shutil.copy(built / "src" / "schema.d.ts", package / "lib")  # where the package that Leadwire serves has it
    pages = [*(ROOT / "src" / "leadwire" / "docs").glob("*.md"), PACKAGE / "README.md"]
    programs = [program for page in pages for program in re.findall(r"```ts\n(.+?)```", page.read_text(), re.DOTALL)]
    programs += [SAMPLE.format(sample["typescript"]) for sample in SAMPLES.values()]
    for number, program in enumerate(programs):
        (tmp_path / f"program{number}.mts").write_text(program)
    (tmp_path / "globals.d.ts").write_text("declare const process: { env: Record<string, string | undefined> };")
    options = {
        "noEmit": True, "strict": True, "exactOptionalPropertyTypes": True, "noUncheckedIndexedAccess": True,
        "module": "nodenext", "target": "es2022", "lib": ["es2022", "dom", "dom.iterable"], "types": [],
    }  # fmt: skip
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": options}))
    code, said = await npm.run(tmp_path, str(built / "node_modules" / ".bin" / "tsc"))
    assert code == 0, said


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
await lw.leads.update(lead.id, { custom_fields: { seats: NaN } }).catch(told);
await lw.leads.update(lead.id, { score: 1000 }).catch((error) => say(error.message.split(" (request")[0]));
say(await lw.leads.delete(LEAD));
"""
    )
    async with AsyncLeadwire(api_key, base_url) as lw:
        with pytest.raises(Invalid) as invalid:
            await lw.leads.update(made[0].id, score=1000)
    words = str(invalid.value)
    assert "/score: " in words
    said = [json.loads(line) for line in await run(program, KEY=api_key, URL=base_url, LEAD=made[0].id)]
    assert said == [
        [one.id for one in made],
        [77, True],
        ["LeadwireError", 412, "precondition_failed", []],
        ["LeadwireError", 404, "not_found", []],
        ["LeadwireError", 422, "validation_error", ["/score"]],
        ["TypeError", 0, "", []],
        ["TypeError", 0, "", []],
        words.partition(" (request")[0],
        {"id": made[0].id, "deleted": True},
    ]


async def test_a_download_that_breaks_off_is_resumed(run):
    """The first answer ends amid the second row, the second before the third, and that one as if it were whole."""
    rows = [
        json.dumps({"id": f"lead_{number}", "created_at": f"2026-01-0{number}"}).encode() + b"\n"
        for number in (1, 2, 3, 4)
    ]
    asked = []

    async def app(scope, receive, send):
        asked.append(scope["query_string"])
        body = [rows[0] + rows[1][:20], rows[1], rows[2] + rows[3][:20], rows[3], b""][len(asked) - 1]
        length = len(body) if len(asked) > 2 else 1000
        headers = [(b"content-length", str(length).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": len(body) < length})
        if len(body) < length:
            raise ConnectionResetError

    program = (
        HEAD
        + """
const made = { id: "exp_1", resume_by: ["created_at", "id"] };
for await (const row of lw.exports.rows(made)) say(row.id);
try { await lw.exports.rows({ ...made, format: "csv" }).next(); } catch (error) { say(error.name); }
"""
    )
    async with on_socket(app) as address:
        assert await run(program, KEY="lw_1", URL=address) == [
            *(f'"lead_{number}"' for number in (1, 2, 3, 4)),
            '"TypeError"',
        ]
    assert asked == [b"", *(f"after=2026-01-0{number}%2Clead_{number}".encode() for number in (1, 2, 3, 4))]


async def test_a_body_that_stands_still_is_asked_for_again_and_a_signal_ends_it(run):
    """Each first answer begins and never ends; so does the fourth download. The third has nothing more."""
    asked = {}

    async def app(scope, receive, send):
        path = scope["path"]
        asked[path] = asked.get(path, 0) + 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        row = b'{"id": "lead_%d", "created_at": "2026-01-01"}\n' % asked[path]
        whole = asked[path] in (2, 3)
        body = (b"" if asked[path] == 3 else row) if "download" in path else b'{"data": {"id": "key_1"}}'
        part = body if whole else body + b"{"
        await send({"type": "http.response.body", "body": part, "more_body": not whole})
        while not whole and (await receive())["type"] != "http.disconnect":
            pass

    program = (
        HEAD
        + """
const quick = new Leadwire(KEY, BASE, { timeout: 2000, retry: { firstWait: 1 } });
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
    assert said == ['"key_1"', '"lead_1"', '"lead_2"', '"lead_4"']
    assert asked == {"/v1/me": 2, "/v1/exports/exp_1/download": 4}


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
        "enough",
    ]
    assert [method for method, _ in seen] == ["DELETE"] * 3 + ["GET"] * 4
    assert len({key for _, key in seen[:3]}) == 1
    assert seen[0][1]


async def test_an_answer_may_take_as_long_as_it_was_asked_to_wait_and_the_timeout(run):
    program = (
        HEAD
        + """
const { setTimeout } = globalThis;
globalThis.setTimeout = (work, time, ...more) => { say(time); return setTimeout(work, time, ...more); };
const fetch = async (url) => { say(new URL(url).searchParams.get("wait")); throw new TypeError("no"); };
const brief = new Leadwire(KEY, BASE, { timeout: 1000, retry: { attempts: 1 }, fetch });
await brief.events.page({ wait: 30 }).catch((error) => say(error.name));
await brief.events.list({ follow: true }).next().catch((error) => say(error.name));
await brief.events.page().catch((error) => say(error.name));
"""
    )
    said = [json.loads(line) for line in await run(program, KEY="lw_1", URL="http://127.0.0.1:1")]
    assert said == [31_000, "30", "Unreachable", 21_000, "20", "Unreachable", 1000, None, "Unreachable"]


async def test_a_retry_after_may_be_a_date(run):
    program = (
        HEAD
        + """
Date.now = () => Date.parse("Wed, 21 Oct 2015 07:27:30 GMT");
for (const told of ["7", "Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2015 07:27:00 GMT", "soon", ""]) {
  const fetch = async () => new Response("", { status: 429, headers: { "retry-after": told } });
  const busy = new Leadwire(KEY, "http://127.0.0.1:1", { retry: { attempts: 1 }, fetch });
  await busy.me.get().catch((error) => say(error.retryAfter ?? null));
}
"""
    )
    assert [json.loads(line) for line in await run(program, KEY="lw_1")] == [7, 30, 0, None, None]


async def test_a_query_is_sent_where_it_tells_no_size(run):
    """As in Node.js 18.0 to 18.15: all parameters were left out, and a follower got the first page for ever."""
    program = (
        HEAD
        + """
delete URLSearchParams.prototype.size;
const fetch = async (url) => { say(url); return new Response('{"data": [], "meta": {}}'); };
const old = new Leadwire(KEY, "http://127.0.0.1:1", { fetch });
await old.leads.page({ score_min: 50 });
await old.me.get();
"""
    )
    asked = [json.loads(line) for line in await run(program, KEY="lw_1")]
    assert asked == ["http://127.0.0.1:1/v1/leads?score_min=50", "http://127.0.0.1:1/v1/me"]


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


async def test_a_follower_outlives_every_failure_and_ends_at_a_4xx_or_a_signal(run):
    """At first it is refused more often than any call asks."""
    feed = Feed()
    program = (
        HEAD
        + """
let refused = 0;
const stop = new AbortController();
const onRetry = ({ name, status }, wait) => { if (++refused === 30) say(name, status, wait <= 2); };
const refusing = async (...given) => { if (refused < 30) throw new TypeError("refused"); return fetch(...given); };
const patient = new Leadwire(KEY, BASE, { retry: { firstWait: 1, longestWait: 2 }, onRetry, fetch: refusing });
try {
  for await (const event of patient.events.list({ follow: true })) say(event.id);
} catch (error) { say(error.status); }
refused = 0;
const enough = () => { if (++refused === 100) stop.abort(new Error("enough")); };
const nobody = new Leadwire(KEY, "http://127.0.0.1:1", { retry: { longestWait: 1 }, onRetry: enough });
try {
  await nobody.events.list({ follow: true }, { signal: stop.signal }).next();
} catch (error) { say(error.message); }
"""
    )
    async with on_socket(feed) as address:
        said = [json.loads(line) for line in await run(program, KEY="lw_1", URL=address)]
    assert said == [["Unreachable", 0, True], *EVENTS, 410, "enough"]
    assert feed.as_followed()


async def test_a_call_goes_on_until_its_deadline_with_few_requests(run):
    """The clock is the program's: a minute passes in its waits."""
    program = (
        HEAD
        + """
let now = 0, asked = 0;
Date.now = () => now;
const later = globalThis.setTimeout;
globalThis.setTimeout = (act, wait) => later(act, wait > 8000 ? wait : 0);
const fetch = async () => { asked++; throw new TypeError("refused"); };
const lw2 = new Leadwire(KEY, "http://127.0.0.1:1", { fetch, onRetry: (error, wait) => { now += wait; } });
await lw2.me.get().catch((error) => say(error.name, asked >= 8 && asked <= 20, now >= 52_000));
try { new Leadwire("lw_1\\n", "http://127.0.0.1:1"); } catch (error) { say(error.name); }
try { new Leadwire(KEY, "leads.example.com"); } catch (error) { say(error.name); }
try { new Leadwire(KEY, "ftp://leads.example.com"); } catch (error) { say(error.name); }
"""
    )
    said = [json.loads(line) for line in await run(program, KEY="lw_1")]
    assert said == [["Unreachable", True, True], *["TypeError"] * 3]


async def test_it_verifies_as_the_server_signs(run):
    body = '{"event":"lead.deleted","timestamp":"2026-01-02T03:04:05.678Z","data":{"id":"lead_ü","deleted":true}}'
    other = signing.new_secret()

    private, public = {}, {}
    for name in "ab":
        private[name] = signing.new_signing_key()
        public[name] = f"whpk_{base64.b64encode(signing.public_key(private[name])).decode()}"

    def signed(secret, staged=None, at=None, key="", text=body, **how):
        headers = signing.headers(
            event_id="evt_1", body=text.encode(), secret=secret, staged=staged, at=at or int(time.time()), attempt=1,
            signing_key=key, **{"prefix": "X-Service-", **how},
        )  # fmt: skip
        return dict(headers)

    with_key = signed(SECRET, key=private["a"])
    alone = {**with_key, "webhook-signature": with_key["webhook-signature"].split(" ")[1]}
    content = f"evt_1.{alone['webhook-timestamp']}.{body}".encode()
    forged = "v1," + base64.b64encode(hmac.digest(signing.public_key(private["a"]), content, "sha256")).decode()
    cases = [
        (with_key, [SECRET], body, "lead.deleted"),
        (alone, [public["a"]], body, "lead.deleted"),
        (alone, [public["b"], public["a"]], body, "lead.deleted"),
        (alone, [public["b"]], body, "InvalidSignature"),
        (alone, [SECRET], body, "InvalidSignature"),
        (alone, [public["a"]], body + " ", "InvalidSignature"),
        (signed(SECRET, at=int(time.time()) - 4000, key=private["a"]), [public["a"]], body, "InvalidSignature"),
        ({**alone, "webhook-id": "evt_2"}, [public["a"]], body, "InvalidSignature"),
        ({**alone, "webhook-signature": "v1a,AAAA v1a, v1a v1a,*"}, [public["a"]], body, "InvalidSignature"),
        (
            {**alone, "webhook-signature": forged},
            [public["a"]],
            body,
            "InvalidSignature",
        ),
        (alone, ["whpk_AAAA"], body, "TypeError"),
        (signed(SECRET), [SECRET], body, "lead.deleted"),
        (signed(SECRET, staged=other), [other], body, "lead.deleted"),
        (signed(SECRET), [other, SECRET], body, "lead.deleted"),
        (signed(SECRET), [other], body, "InvalidSignature"),
        (signed(SECRET), [SECRET], body + " ", "InvalidSignature"),
        (signed(SECRET, at=int(time.time()) - 4000), [SECRET], body, "InvalidSignature"),
        (signed(SECRET, at=int(time.time()) + 4000), [SECRET], body, "InvalidSignature"),
        ({}, [SECRET], body, "InvalidSignature"),
        ({**signed(SECRET), "webhook-signature": "v1,§ v1a,x nonsense"}, [SECRET], body, "InvalidSignature"),
        (signed(SECRET), ["whsec_c2hvcnQ="], body, "TypeError"),
        *(
            (signed(SECRET, text=text), [SECRET], text, "SyntaxError")
            for text in ("", "null", "[]", "{}", '{"event":1}', '{"checkpoint":{"at":"2026-01-02T03:04:05.678Z"}}')
        ),
    ]
    others = {"X-Stage-Signature": "x", "X-Stage-Test": "true", "Latest": "true"}
    prefixes = ("X-Service-", "X-Acme-", "Acme")
    tests = [others | signed(SECRET, prefix=prefix, test=test) for prefix in prefixes for test in (True, False)]
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
for (const [headers, secret, body] of {json.dumps([(headers, SECRET, body) for headers in tests])})
  for (const given of [headers, new Headers(headers)]) say((await verify(body, given, secret)).test);
await verify("", new Headers(), []).catch((error) => say(error.message));
for (const given of [[undefined, BASE], [KEY, undefined]])
  try {{ new Leadwire(...given); }} catch (error) {{ say(error.message); }}
"""
    )
    said = [json.loads(line) for line in await run(program)]
    expected = [one for *_, said in cases for one in [said] * 2]
    expected += [True, True, False, False] * 3
    missing = ["there is no secret", "the API key is missing", "the API key is missing"]
    assert [one[0] if isinstance(one, list) else one for one in said] == [*expected, *missing]
    assert said[0] == ["lead.deleted", "lead_ü", "2026-01-02T03:04:05.678Z"]


async def test_public_keys_are_fetched_and_kept(run, workspace):
    made = await changes.create(workspace, "https://crm.example.com/", ["lead.created"])
    program = (
        HEAD
        + """
let now = 1e6;
performance.now = () => now;
const keys = publicKeys(`${BASE}/.well-known/leadwire/${process.env.ENDPOINT}/jwks.json`);
const told = () => keys().then(say, (error) => say(error.name));
const ask = globalThis.fetch;
let asked = 0, failing = false;
globalThis.fetch = (...given) => (asked++, failing ? Promise.reject(new TypeError("refused")) : ask(...given));
await Promise.all([told(), told()]);
now += 299_999; await told(); say(asked);
failing = true;
now += 1; await told(); await told(); say(asked);
now += 86_400_000; await told();
failing = false;
now += 10_000; await told();
"""
    )
    await changes.configure(workspace, made.id, EndpointChange(ed25519=True))
    (key,) = [one.text for one in (await reads.endpoint(workspace, made.id)).public_keys]
    async with on_socket(asgi.app()) as address:
        said = [json.loads(line) for line in await run(program, URL=address, ENDPOINT=made.id)]
        assert said == [[key], [key], [key], 1, [key], [key], 2, "Unreachable", [key]]
        await changes.configure(workspace, made.id, EndpointChange(ed25519=False))
        program = program[: program.index("const ask =")] + "await told();"
        assert await run(program, URL=address, ENDPOINT=made.id) == ['"Unreachable"']


async def test_what_is_handed_out_is_compiled_from_its_sources(anonymous, tmp_path):
    """`python -m ops.typescript` compiles them again."""
    lib = await installed(anonymous, tmp_path) / "lib"
    compiled = {path.name: path.read_text() for path in lib.iterdir() if not path.name.startswith("types.")}
    assert compiled == {path.name: path.read_text() for path in (PACKAGE / "lib").iterdir()}


async def test_it_is_installed_from_the_service_type_checked_and_run(anonymous, base_url, api_key, tmp_path):  # noqa: F811
    """In a folder of its own, by the line of the page, with the strictest types."""
    compiler = await installed(anonymous, tmp_path / "built") / "node_modules" / "typescript" / "bin" / "tsc"
    there = tmp_path / "there"
    there.mkdir()
    (there / "package.json").write_text('{"type": "module"}')
    program = TYPES.read_text().replace("./index.js", "@leadwire/client")
    (there / "types.ts").write_text(program)
    (there / "program.ts").write_text("""import { Leadwire, type Me } from "@leadwire/client";
declare const process: { env: Record<string, string | undefined> };
const me: Me = await new Leadwire(process.env.KEY, process.env.URL).me.get();
console.log(me.workspace.id satisfies string);
""")
    strict = ("--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--module", "NodeNext")
    for command in (
        ("npm", "install", "--no-audit", "--no-fund", f"{base_url}{clients.PREFIX}{clients.TARBALL}"),
        ("node", str(compiler), *strict, "--target", "ES2022", "program.ts", "types.ts"),
        ("node", "program.js"),
    ):
        code, said = await npm.run(there, *command, KEY=api_key, URL=base_url)
        assert code == 0, said
    assert said.startswith("ws_")


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

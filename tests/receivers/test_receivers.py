"""Each receiver that the documentation shows, in its own language, against real deliveries and against forged ones."""

import asyncio
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from leadwire.delivery import signing
from leadwire.domain.webhooks import changes, rotation, samples, signing_keys
from leadwire.domain.webhooks.schema import PUBLISHED_BEFORE, EndpointChange
from leadwire.infrastructure import clock
from tests import make
from tests.delivery.wired import Wire, endpoint
from tests.flows.commands import free_port
from tests.serving import served
from tests.waiting import until

pytestmark = pytest.mark.flow

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "ops" / "receivers"
BODY = '{"event":"lead.created","data":{"name":"Zoë 日本"}}'.encode()


SNIPPETS = {"py": "Python", "mjs": "Node", "go": "Go", "php": "PHP", "rb": "Ruby", "java": "Java", "cs": "C#"}


def program(language: str) -> Path:
    """Java wants its file to have the name of the class, and C# is used to it."""
    return PROGRAMS / f"{'Receiver' if language in ('java', 'cs') else 'receiver'}.{language}"


def command(language: str, port: int, work: Path) -> list[str]:
    """How to run it; skips the test where its runtime is not there."""
    runtime, *arguments = {
        "py": [sys.executable],
        "mjs": ["node"],
        "go": ["go", "build", "-o", str(work / "receiver")],
        "php": ["php", "-S", f"127.0.0.1:{port}"],
        "rb": ["ruby"],
        "java": ["java"],
        "cs": ["mcs", f"-out:{work / 'receiver.exe'}"],
    }[language]
    if shutil.which(runtime) is None:
        pytest.skip(f"{runtime} is not installed")
    if (
        language == "rb"
        and subprocess.run([runtime, "-rwebrick", "-e", ""], capture_output=True, check=False).returncode
    ):
        pytest.skip("the gem webrick is not installed")
    whole = [runtime, *arguments, str(program(language))]
    if language in ("go", "cs"):
        subprocess.run(whole, check=True, capture_output=True, timeout=240)
        return [str(work / "receiver")] if language == "go" else ["mono", str(work / "receiver.exe")]
    return whole


@pytest.fixture
def running(tmp_path):
    """Start one with a secret, or the address of keys; answers its URL and the file it prints to."""
    started = []

    def start(language: str, secret: str = "", **environment: str) -> tuple[str, Path]:
        port, printed = free_port(), tmp_path / f"out{len(started)}"
        arguments = command(language, port, tmp_path)
        with printed.open("wb") as out:
            started.append(
                subprocess.Popen(
                    arguments,
                    env={**os.environ, "SECRET": secret, "PORT": str(port), **environment},
                    stdout=out,
                    stderr=out,
                )
            )
        until(lambda: _listening(port) or started[-1].poll() is not None)
        assert started[-1].poll() is None, printed.read_text()
        return f"http://127.0.0.1:{port}/", printed

    yield start
    for process in started:
        process.terminate()
        process.wait(120)


def _listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def signed(
    secret: str, *, body: bytes = BODY, at: int = 0, staged: str | None = None, signing_key: str = ""
) -> dict[str, str]:
    """The headers of a delivery `at` seconds from now."""
    made = signing.headers(
        event_id="evt_1", body=body, secret=secret, staged=staged, at=int(time.time()) + at, attempt=1,
        prefix="X-Service-", signing_key=signing_key,
    )  # fmt: skip
    return dict(made)


@pytest.fixture(
    params=["py", "mjs", pytest.param("go", marks=pytest.mark.large), "php", "rb", "java", "cs"]
)  # Go builds for a minute
def language(request):
    return request.param


async def test_real_deliveries_are_received_also_while_the_secret_changes(language, running, redis, workspace, bot):
    made = await endpoint(workspace, "http://127.0.0.1:9999/", "lead.created")
    staged = await rotation.stage(workspace, made.id)
    receivers = [running(language, secret) for secret in (made.secret, staged)]
    for number, (url, _) in enumerate(receivers):
        await changes.configure(workspace, made.id, EndpointChange(url=url))
        async with Wire(redis) as wire:
            await make.lead(workspace, bot, email=f"ada{number}@example.com", name="Zoë 日本")
            (one,) = await wire.turn()
        assert (one.outcome, one.http_status) == ("delivered", 204), one.error
    for _, printed in receivers:
        assert until(lambda printed=printed: re.search(r"evt_\w+ lead\.created", printed.read_text()))


def test_whatever_is_not_genuine_is_refused(language, running):
    secret, second, other = signing.new_secret(), signing.new_secret(), signing.new_secret()
    url, printed = running(language, f"{secret},{second}")
    right = signed(secret)
    with httpx.Client(timeout=240) as client:

        def answer(headers: dict[str, str], body: bytes = BODY) -> int:
            return client.post(url, content=body, headers=headers).status_code

        for headers in (
            right, signed(other, staged=secret), signed(second), signed(secret, at=-290), signed(secret, at=290),
        ):  # fmt: skip
            assert answer(headers) == 204
        for headers in (
            signed(other), signed(secret, at=-310), signed(secret, at=310), {}, {**right, "webhook-id": "evt_2"},
            {**right, "webhook-timestamp": "1e9"}, {**right, "webhook-timestamp": "9" * 5000},
            {**right, "webhook-timestamp": f"{right['webhook-timestamp']}.0"}, {**right, "webhook-signature": ""},
            {**right, "webhook-signature": right["webhook-signature"][:-1]},
            {**right, "webhook-signature": right["webhook-signature"].removeprefix("v1,")},
            *({name: value for name, value in right.items() if name != f"webhook-{left_out}"}
              for left_out in ("id", "timestamp", "signature")),
        ):  # fmt: skip
            assert answer(headers) == 401, headers
        for body in (BODY + b" ", BODY[:-1], b"", BODY.replace(b"lead", b"Lead")):
            assert answer(right, body) == 401
        assert answer(right) == 204
    until(lambda: printed.read_text().count("evt_1 lead.created") == 6)


@pytest.mark.parametrize("language", ["py", "mjs", pytest.param("go", marks=pytest.mark.large), "php", "rb", "cs"])
def test_an_empty_secret_makes_nothing_genuine(language, running):
    """As of a variable that is not set: anybody can sign with it. Java takes no empty key."""
    url, _ = running(language, ",whsec_")
    assert httpx.post(url, content=BODY, headers=signed("whsec_"), timeout=240).status_code == 401


@pytest.fixture(params=["py", "mjs", pytest.param("go", marks=pytest.mark.large), "php", "rb", "java"])
def language_with_keys(request):
    """C# is not among them: .NET has no Ed25519."""
    return request.param


async def test_receivers_need_no_secret_also_while_the_key_changes(
    language_with_keys, running, redis, workspace, bot, database
):
    made = await endpoint(workspace, "http://127.0.0.1:9999/", "lead.created")
    other = await endpoint(workspace, "http://127.0.0.1:9999/", "lead.deleted")
    for one in (made, other):
        await changes.configure(workspace, one.id, EndpointChange(ed25519=True))
    await signing_keys.stage(workspace, made.id)
    async with served() as address, Wire(redis) as wire:
        url, printed = await asyncio.to_thread(
            running, language_with_keys, KEYS=f"{address}/.well-known/leadwire/{made.id}/jwks.json"
        )
        await changes.configure(workspace, made.id, EndpointChange(url=url))
        for number in range(2):
            await make.lead(workspace, bot, email=f"ada{number}@example.com", name="Zoë 日本")
            (one,) = await wire.turn()
            assert (one.outcome, one.http_status) == ("delivered", 204), one.error
            with clock.at(clock.now() + PUBLISHED_BEFORE):
                await (signing_keys.stage if number else signing_keys.promote)(workspace, made.id)
        present = await rotation.signers(workspace, made.id)
        theirs = await rotation.signers(workspace, other.id)
        right = signed(present[0], signing_key=present[2])
        only = right["webhook-signature"].split(" ")[1]
        async with httpx.AsyncClient() as client:

            async def answer(headers: dict[str, str], body: bytes = BODY) -> int:
                return (await client.post(url, content=body, headers=headers, timeout=120)).status_code

            for headers in (
                right, {**right, "webhook-signature": only}, {**right, "webhook-signature": f"v1a,AAAA v2,x {only}"},
                signed(theirs[0], signing_key=present[2]),
            ):  # fmt: skip
                assert await answer(headers) == 204, headers
            for headers in (
                signed(present[0]), signed(present[0], signing_key=theirs[2]),
                signed(present[0], signing_key=signing.new_signing_key()),
                signed(present[0], at=-310, signing_key=present[2]), signed(present[0], at=310, signing_key=present[2]),
                {}, {**right, "webhook-id": "evt_2"}, {**right, "webhook-timestamp": "1e9"},
                {**right, "webhook-timestamp": "9" * 5000}, {**right, "webhook-signature": ""},
                *({**right, "webhook-signature": wrong} for wrong in (
                    only[:-3], f"v1,{only[4:]}", only[4:], "v1a,", "v1a", "v1a,*", "v1a,AAAA",
                    f"v1a,{'A' * 86}==",
                )),
            ):  # fmt: skip
                assert await answer(headers) == 401, headers
            for body in (BODY + b" ", BODY[:-1], b"", BODY.replace(b"lead", b"Lead")):
                assert await answer(right, body) == 401
    assert await asyncio.to_thread(until, lambda: len(re.findall(r"evt_\w+ lead\.created", printed.read_text())) == 6)


@pytest.mark.parametrize("language", [one for one in SNIPPETS if one != "cs"])
def test_what_is_shown_for_keys_is_what_runs(language):
    shown, whole = samples.key_verifiers()[SNIPPETS[language]], program(language).read_text()
    begin = re.search(
        r"^( *(/\*\* The keys|# The keys|// publishedKeys|def published_keys))", shown, re.MULTILINE
    ).start()
    assert shown[begin:] in whole
    for line in filter(None, map(str.strip, shown[:begin].splitlines())):
        assert line in map(str.strip, whole.splitlines())


@pytest.mark.parametrize("language", SNIPPETS)
def test_what_is_shown_is_what_runs(language):
    shown, running = samples.verifiers()[SNIPPETS[language]], program(language).read_text()
    begin = re.search(r"^( *(/\*\*|/// |# What|// signedText|def signed_text))", shown, re.MULTILINE).start()
    assert shown[begin:] in running
    for line in filter(None, map(str.strip, shown[:begin].splitlines())):
        assert line in map(str.strip, running.splitlines())


def test_the_shell_takes_what_is_genuine_and_nothing_else(tmp_path):
    shown = samples.verifiers()["Shell"]
    secret, second, other = signing.new_secret(), signing.new_secret(), signing.new_secret()

    def answer(headers: dict[str, str], body: bytes = BODY, known: str = f"{secret} {second}") -> bool:
        (tmp_path / "body.json").write_bytes(body)
        given = {"ID": "id", "SENT": "timestamp", "SIGNATURES": "signature"}
        values = {name: headers.get(f"webhook-{header}", "") for name, header in given.items()}
        environment = {**os.environ, **values, "SECRETS": known}
        return subprocess.run(["sh", "-c", shown], cwd=tmp_path, env=environment, check=False).returncode == 0

    right = signed(secret)
    for headers in (
        right,
        signed(second),
        signed(other, staged=secret),
        signed(secret, at=-290),
        signed(secret, at=290),
    ):
        assert answer(headers)
    for headers in (
        signed(other), signed(secret, at=-310), signed(secret, at=310), {}, {**right, "webhook-id": "evt_2"},
        {**right, "webhook-timestamp": "1e9"}, {**right, "webhook-timestamp": "9" * 500},
        {**right, "webhook-timestamp": "0"},
        {**right, "webhook-signature": ""}, {**right, "webhook-signature": "*"},
        {**right, "webhook-timestamp": "$(id)"},
        {**right, "webhook-signature": right["webhook-signature"][:-1]},
    ):  # fmt: skip
        assert not answer(headers), headers
    assert not answer(right, BODY + b" ")
    for none in ("", "whsec_", "whsec_!"):
        assert not answer(signed("whsec_"), known=none)
        assert not answer({**right, "webhook-signature": "v1,"}, known=none)

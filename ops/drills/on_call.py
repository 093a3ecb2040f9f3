"""Faults on a `leadwire up` of its own: what the page System and `doctor` say of each, until the page is quiet again.

    uv run python -m ops.drills.on_call [--seconds 300] [FAULT ...]        # all but disk-full without a name

It has three endpoints beside the demo's, and two changes a second. Somebody who is signed in opens the page every 5 s;
printed is what is new on it. Once it shows the fault, `doctor` and `status` are run: what they say is printed, none may
end in a traceback, and `doctor` has to name the cause. `on_call.md` tells how each cause was found by hand. `disk-full`
fills the file system of TMPDIR, which has to be a small one: `mount -t tmpfs -o size=900m drill DIRECTORY`.
"""

import argparse
import asyncio
import contextlib
import html
import os
import re
import sys
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

import httpx

from ops.chaos.journal import free_port
from ops.chaos.payload import FIELD
from ops.drills.receiver import Receiver
from ops.drills.up_faults import FAULTS, NAMES, Up
from ops.screens.instance import instance

_EVERY: Final = 5.0  # seconds between two looks
_HTML: Final = {"Accept": "text/html"}
_FIRING: Final = re.compile(r'<th scope="row">(?:<span.*?>)?<svg.*?</svg>(\w+).*?<small>(.*?)</small>', re.DOTALL)


async def _said(page: httpx.AsyncClient) -> dict[str, str]:
    """What the page says, by the names of the conditions; or the status of a page that cannot be shown."""
    try:
        answer = await page.get("/system")
    except httpx.HTTPError as error:
        return {type(error).__name__: str(error)}
    if answer.status_code != HTTPStatus.OK:
        leads = "leads to On call" if "/docs/on-call" in answer.text else "leads nowhere"
        return {str(answer.status_code): f"the page cannot be shown; it {leads}"}
    return {name: html.unescape(text) for name, text in _FIRING.findall(answer.text)}


async def _until(page: httpx.AsyncClient, over: Callable[[dict[str, str]], bool], seconds: float) -> float | None:
    """Look until it is `over`; return the seconds that took, or None after so many. Print what is new."""
    began, shown = time.monotonic(), set[str]()
    while (passed := time.monotonic() - began) < seconds:
        said = await _said(page)
        passed = time.monotonic() - began
        for name in (name for name in said if name not in shown):
            print(f"{passed:8.1f} s  {name}: {said[name]}", flush=True)
        shown |= said.keys()
        if over(said):
            return passed
        await asyncio.sleep(_EVERY)
    return None


async def _change(api: httpx.AsyncClient) -> None:
    (lead,) = (await api.get("/v1/leads?limit=1")).json()["data"]
    number = 0
    while True:
        number += 1
        with contextlib.suppress(httpx.HTTPError):
            await api.patch(f"/v1/leads/{lead['id']}", json={"custom_fields": {FIELD: number}})
        await asyncio.sleep(0.5)


async def _walk(name: str, told: dict[str, Any], seconds: float) -> str:
    """Bring a fault about, look at the page, and end it. Return a line of the table."""
    fault, expected, cause = FAULTS[name]
    person = {"email": "ada@example.org", "password": "correct horse battery staple"}
    key = {"Authorization": f"Bearer {told['api_key']}"}
    async with (
        Receiver() as receiver,
        httpx.AsyncClient(base_url=told["url"], headers=_HTML, timeout=60, trust_env=False) as page,
        httpx.AsyncClient(base_url=told["url"], headers=key, timeout=60, trust_env=False) as api,
    ):
        up = Up(told, [], receiver)
        for one in NAMES:
            await up.command("endpoints", "create", "--url", receiver.url(one), "--event", "lead.updated", "--enable")
        connection = await up.database()
        rows = await connection.fetch("SELECT id FROM webhook_endpoint WHERE url LIKE $1", receiver.url("%"))
        up.endpoints.extend(row["id"] for row in rows)
        await connection.close()
        assert (await page.post(told["join"].removeprefix(told["url"]), data=person)).is_redirect
        changing = asyncio.create_task(_change(api))
        await _until(page, lambda said: not said, seconds)
        print(f"{name}:", flush=True)
        async with fault(up):
            shown = await _until(page, lambda said: expected in said, seconds)
            doctor, status = await up.says("doctor"), await up.says("status")
        problems = [line for line in doctor.splitlines() if not line.startswith("ok ")]
        print("\n".join(["doctor:", *problems, "status:", status, "ended"]), flush=True)
        named = re.search(cause, "\n".join(problems)) and "Traceback" not in doctor + status
        quiet = await _until(page, lambda said: not said, seconds)
        changing.cancel()
    took = [f"{one:.0f} s" if one is not None else f"not in {seconds:.0f} s" for one in (shown, quiet)]
    return f"{name:<18} {expected:<18} {took[0]:>13} {took[1]:>13}  {'named' if named else 'not named'}"


def main() -> int:
    """Walk them and return the exit code."""
    options = argparse.ArgumentParser(prog="python -m ops.drills.on_call")
    options.add_argument("fault", nargs="*", choices=[[], *FAULTS], metavar="FAULT", help=", ".join(FAULTS))
    options.add_argument("--seconds", type=float, default=300, help="the longest wait for the page to say it")
    asked = options.parse_args()
    for variable in [variable for variable in os.environ if variable.startswith("LEADWIRE_")]:
        del os.environ[variable]
    os.environ["LEADWIRE_HEADER_PREFIX"] = "X-Deliver-1-"  # as the receiver expects
    lines = [f"{'fault':<18} {'System shows':<18} {'shown after':>13} {'quiet after':>13}  doctor"]
    for name in asked.fault or [name for name in FAULTS if name != "disk-full"]:
        with instance(free_port()) as told:
            os.environ["LEADWIRE_DATA_DIR"] = told["data_dir"]
            lines.append(asyncio.run(_walk(name, told, asked.seconds)))
    print("\n" + "\n".join(lines))
    return 1 if any("not in" in line or "not named" in line for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())

"""The certified provider `oidc-provider` of npm: installed once into a cache, started for a test session."""

import asyncio
import contextlib
import re
from html import unescape
from pathlib import Path
from urllib.parse import urljoin

import httpx

from leadwire.domain.accounts.sso import changes as sso
from tests import make, npm

FOLDER = Path(__file__).with_name("oidc_provider")
FILES = ("package.json", "package-lock.json", "server.js")


async def installed():
    """The folder that it runs in. Skips the test where that cannot be had."""
    return await npm.folder({name: (FOLDER / name).read_bytes() for name in FILES})


@contextlib.asynccontextmanager
async def running():
    """Its issuer, inside the block."""
    process = await asyncio.create_subprocess_exec(
        "node", "server.js", cwd=await installed(), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(240):
            port = int(await process.stdout.readline())
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        await process.wait()


async def registered(workspace, issuer, ours, **more):
    """A provider of a workspace, at which we are registered as a client; its id. `ours` is our address."""
    provider = await sso.add(workspace, "Acme ID", issuer)
    async with httpx.AsyncClient(timeout=240) as client:
        answer = await client.post(
            f"{issuer}/reg",
            json={
                "redirect_uris": [f"{ours}/sso/{provider}/callback"],
                "backchannel_logout_uri": f"{ours}/sso/{provider}/logout",
                "backchannel_logout_session_required": True,
                **more.pop("client", {}),
            },
        )
    made = answer.json()
    given = {
        "name": "Acme ID", "client_id": made["client_id"], "client_secret": made["client_secret"],
        "domains": ["example.org"], "trusts_email": False, "default_role": "agent", "role_claim": "", "roles": {},
    }  # fmt: skip
    for domain in (given | more)["domains"]:
        await make.domain(workspace, domain)
    await sso.configure(workspace, provider, sso.Setup(**given | more))
    return provider


class Person(httpx.AsyncClient):
    """A browser that fills in the provider's forms as well as it can, and stops at the way back to us."""

    async def pass_through(self, location, ours, login):
        """The address at ours that the provider sends the browser back to."""
        answer = await self.get(location)
        for _ in range(12):
            if answer.is_redirect:
                onward = urljoin(str(answer.url), answer.headers["location"])
                if onward.startswith(ours):
                    return onward
                answer = await self.get(onward)
            else:
                answer = await self.submit(answer, login=login, password="any")
        raise AssertionError(answer.text[-2000:])

    async def submit(self, page, **fields):
        """Send the form of a page, with its hidden fields."""
        assert page.status_code == 200, page.text[-2000:]
        action = re.search(r'<form[^>]* action="([^"]+)"', page.text)[1]
        hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.text))
        return await self.post(urljoin(str(page.url), unescape(action)), data=hidden | fields)

"""What `up` sets up, without any of its processes."""

import asyncio

from leadwire.development.stack import Stack
from leadwire.infrastructure.settings import Settings
from tests.serving import on_socket


async def test_the_api_itself_is_waited_for_and_not_what_is_in_front_of_it(tmp_path):
    async def ready(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body"})

    settings = Settings(data_dir=tmp_path, public_url="https://leads.invalid")
    async with on_socket(ready) as address, asyncio.timeout(5):
        await Stack(settings, "127.0.0.1", int(address.rpartition(":")[2]), demo=False)._ready()

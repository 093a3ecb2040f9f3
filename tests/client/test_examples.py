"""The documented examples of the client, executed."""

import asyncio
import json
import re
import time
from pathlib import Path
from typing import Any

from leadwire.delivery import signing
from leadwire.domain.webhooks.samples import SAMPLES
from tests import make

DOCUMENT = Path(__file__).parents[2] / "src" / "leadwire" / "docs" / "python-client.md"


async def test_the_examples_do_what_they_show(base_url, api_key, workspace, bot, monkeypatch, capsys):
    use, receive = re.findall(r"```python\n(.+?)```", DOCUMENT.read_text(), re.DOTALL)
    secret, there = signing.new_secret(), {}
    for name, value in {"KEY": api_key, "URL": base_url, "SECRET": secret}.items():
        monkeypatch.setenv(name, value)
    await make.lead(workspace, bot, score=80, custom_fields={"old": 1})
    await asyncio.to_thread(exec, use, there)
    assert capsys.readouterr().out == "0 visitors wait for a person\n"
    changed = (await make.emitted())[-1]
    assert (changed["event"], changed["data"]["custom_fields"]) == ("lead.updated", {"stage": "won"})

    exec(receive, there)
    body = json.dumps(
        {"event": "lead.created", "timestamp": "2026-01-02T03:04:05.678Z", "data": SAMPLES["lead.created"]}
    )
    assert there["receive"](body.encode(), _signed(body.encode(), secret)) == 204
    assert capsys.readouterr().out == "evt_1 ada@example.com\n"
    assert there["receive"](body.encode() + b" ", _signed(body.encode(), secret)) == 401


def _signed(body: bytes, secret: str) -> dict[str, Any]:
    at = int(time.time())
    made = signing.headers(
        event_id="evt_1", body=body, secret=secret, staged=None, at=at, attempt=1, prefix="X-Service-"
    )
    return dict(made)

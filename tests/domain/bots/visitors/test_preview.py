"""A trial conversation, which is run from its start at each turn."""

import asyncio

from leadwire.domain.bots.flow.parse import parse
from leadwire.domain.bots.visitors import preview

FLOW = """
format = 1
start = "more"
[[nodes]]
id = "more"
type = "ask"
text = "More?"
next = "more"
"""


async def unknown(_):
    return None


async def test_others_have_their_turn_between_two_lines():
    turns, trial = 0, asyncio.create_task(preview.run("ws", "bot", parse(FLOW), ["x"] * 50, unknown))
    while not trial.done():
        await asyncio.sleep(0)
        turns += 1
    assert len((await trial).turn.messages) == 101
    assert turns > 50

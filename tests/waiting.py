"""Waiting for something without sleeping for a guess: look, and look again, until a bound."""

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any


def until(condition: Callable[[], Any], seconds: float = 240.0) -> Any:
    """The first true value of `condition`; AssertionError with the last one when there is none in time."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"still {found!r} after {seconds} s"
        time.sleep(0.02)
    return found


async def eventually(condition: Callable[[], Any], seconds: float = 240.0) -> Any:
    """The same for a condition that may be async."""
    end = time.monotonic() + seconds
    while True:
        found = condition()
        found = await found if inspect.isawaitable(found) else found
        if found:
            return found
        assert time.monotonic() < end, f"still {found!r} after {seconds} s"
        await asyncio.sleep(0.01)

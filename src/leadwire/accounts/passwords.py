"""Passwords at rest: argon2id, with the cost that OWASP names first (19 MiB, 2 passes).

A check takes some 30 ms of a core and 19 MiB, so it runs in a thread, and two at a time.
"""

import asyncio
import functools
import secrets
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from leadwire.errors import Fault, Invalid

SHORTEST: Final = 12
LONGEST: Final = 200

_hasher: Final = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
_turns: Final = asyncio.Semaphore(2)


def check(password: str) -> None:
    """Raises Invalid for a password that nobody should have."""
    if not SHORTEST <= len(password) <= LONGEST:
        message = f"A password has {SHORTEST} to {LONGEST} characters; a few words are fine."
        raise Invalid(message, faults=(Fault("wrong_length", message, "/password"),))


async def digest(password: str) -> str:
    """What is stored of a password."""
    async with _turns:
        return await asyncio.to_thread(_hasher.hash, password)


async def matches(stored: str | None, password: str) -> bool:
    """Whether `password` is the stored one. Nothing stored takes as long as something, and never matches."""
    async with _turns:
        right = await asyncio.to_thread(_verify, stored or _decoy(), password)
    return right and stored is not None


def outdated(stored: str) -> bool:
    """Whether it was hashed at another cost than today's."""
    return _hasher.check_needs_rehash(stored)


def _verify(stored: str, password: str) -> bool:
    try:
        return _hasher.verify(stored, password)
    except (Argon2Error, InvalidHashError):
        return False


@functools.cache
def _decoy() -> str:
    return _hasher.hash(secrets.token_hex())

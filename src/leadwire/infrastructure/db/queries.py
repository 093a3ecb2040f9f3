"""Functions that are a statement each: a signature and a docstring, and SQL of the same name in the file beside.

    @query(BotNotFound)
    async def history(workspace: str, bot_id: str) -> History:
        \"\"\"How far a bot's draft can be undone and redone. Raise BotNotFound.\"\"\"

The parameters are the values of the statement: both have to be the same, at import. `:now` needs none: it is what the
clock says. What is annotated to be returned is made of the rows: `list[X]` and `set[X]` have an X for each, `dict` the
first two columns, X is made of the first. Without a row it is None where the annotation allows that, False where it is
`bool`. A struct is made of the columns in their order, with times as text unless it has fields for times; a plain value
is the first column.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from msgspec import Struct, structs

from leadwire.infrastructure import clock
from leadwire.infrastructure.db import Row
from leadwire.infrastructure.db.statements import load
from leadwire.infrastructure.errors import NotFound

F = TypeVar("F", bound=Callable[..., Awaitable[Any]])


def query(missing: type[Exception] | str = "") -> Callable[[F], F]:
    """Make a function run its statement. `missing` is raised without a row; a text is that of a NotFound, in which
    values may be named: `{endpoint_id}`.

    Raise KeyError or TypeError, so at import, when there is no such statement or it takes other values.
    """

    def decorate(function: Any) -> Any:
        statement = load(function.__globals__["__file__"])[function.__name__.strip("_")]
        parameters = inspect.signature(function).parameters
        names, most = tuple(parameters), len(parameters)
        told = {"now"}.intersection(statement.names).difference(names)
        if {*names, *told} != set(statement.names):
            message = f"{function.__qualname__} takes {list(names)}, its SQL {list(statement.names)}"
            raise TypeError(message)
        defaults = {
            name: parameter.default
            for name, parameter in parameters.items()
            if parameter.default is not parameter.empty
        }
        looks = statement.text.startswith(("SELECT", "WITH"))
        answer = _answer(get_type_hints(function)["return"])

        @functools.wraps(function)
        async def run(*args: Any, **values: Any) -> Any:
            if len(args) > most:
                message = f"{function.__qualname__} takes {most} values"
                raise TypeError(message)
            # `signature.bind` takes longer than all the rest.
            values = {**defaults, **dict(zip(names, args, strict=False)), **values}
            if told:
                values["now"] = clock.now()
            # No row has a NUL byte, which PostgreSQL refuses to look for.
            absent = looks and "\0" in "".join([value for value in values.values() if isinstance(value, str)])
            rows = [] if absent else await statement.rows(**values)
            if missing and not rows:
                raise NotFound(missing.format(**values)) if isinstance(missing, str) else missing()
            return answer(rows)

        return run

    return decorate


def _answer(returned: Any) -> Callable[[Sequence[Row]], Any]:
    """What makes of rows what a function returns."""
    if returned is type(None):
        return lambda _: None
    if get_origin(returned) is dict:
        return lambda rows: {row[0]: row[1] for row in rows}
    if (many := get_origin(returned)) in (list, set):
        make = _make(get_args(returned)[0])
        return lambda rows: many(map(make, rows))
    types = [kind for kind in get_args(returned) if kind is not type(None)]
    make = _make(types[0] if type(None) in get_args(returned) else returned)
    without = False if returned is bool else None
    return lambda rows: make(rows[0]) if rows else without


def _make(kind: Any) -> Callable[[Row], Any]:
    """What makes a value of a row."""
    if kind is Row:
        return lambda row: row
    if get_origin(kind) is tuple:
        return tuple
    if not issubclass(kind, Struct | tuple):
        return lambda row: row[0]
    times = issubclass(kind, tuple) or any(
        datetime in (field.type, *get_args(field.type)) for field in structs.fields(kind)
    )
    return (lambda row: kind(*row)) if times else (lambda row: kind(*clock.texts(row)))

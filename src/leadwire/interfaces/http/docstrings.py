"""Docstrings of the fields of a struct: the text below each, which Python itself does not keep."""

import ast
import functools
import inspect
import itertools
import textwrap
from collections.abc import Mapping

import msgspec


@functools.cache
def docstrings(struct: type[msgspec.Struct]) -> Mapping[str, str]:
    """Return the docstring of each field by its name, inherited ones too."""
    found: dict[str, str] = {}
    for kind in reversed(struct.__mro__):
        if issubclass(kind, msgspec.Struct) and kind is not msgspec.Struct:
            [definition] = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
            found |= _of(definition)
    return found


def _of(definition: ast.stmt) -> dict[str, str]:
    found = {}
    for pair in itertools.pairwise(getattr(definition, "body", ())):
        match pair:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = inspect.cleandoc(text)
    return found

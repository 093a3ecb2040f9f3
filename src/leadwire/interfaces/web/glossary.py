"""Terms of ours, which screens explain where they are met."""

import functools
from pathlib import Path

import msgspec


class Term(msgspec.Struct, frozen=True):
    """A term as people read it, and what it means."""

    name: str
    text: str


@functools.cache
def terms() -> dict[str, Term]:
    """Every term, by its key in `glossary.toml`."""
    return msgspec.toml.decode(Path(__file__).with_name("glossary.toml").read_bytes(), type=dict[str, Term])

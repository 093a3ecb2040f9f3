"""URLs that may name several servers, `scheme://user:password@host:1,[::1]:2/path`, which `urllib` has no word for."""

import re
from typing import Final
from urllib.parse import SplitResult, urlsplit

_SERVERS: Final = re.compile(r"(?s)([^:/?#]+://(?:[^/?#]*@)?)([^/?#@]*)(.*)")


def split(url: str) -> tuple[SplitResult, list[str]]:
    """The parts of a URL without its servers, and these, `host:port` each. Raise ValueError.

    `urlsplit` takes a bracket behind a comma for a mistake, in Python 3.14 and later patches of earlier versions.
    """
    match = _SERVERS.fullmatch(url)
    if not match:
        return urlsplit(url), [""]
    before, servers, after = match.groups()
    return urlsplit(before + after), servers.split(",")

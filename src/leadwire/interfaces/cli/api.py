"""`leadwire api`: one request of the /v1 API, or all pages of a list."""

import contextlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import click

from leadwire.infrastructure.errors import OperatorError

_METHODS: Final = ("get", "head", "post", "put", "patch", "delete")
_CONTROL: Final = re.compile(r"[\x7f-\x9f]")  # JSON may have these as they are; a terminal obeys them


@click.command()
@click.argument("method", type=click.Choice(_METHODS, case_sensitive=False))
@click.argument("path")
@click.option("--query", "-q", multiple=True, metavar="NAME=VALUE", help="A parameter of the query. Repeatable.")
@click.option("--data", "-d", metavar="JSON", help="The body; @FILE reads it from a file, @- from stdin.")
@click.option("--header", "-H", multiple=True, metavar="NAME:VALUE", help="A header of the request. Repeatable.")
@click.option("--all", "all_pages", is_flag=True, help="Follow the pages of a list; print one item a line.")
@click.option("--include", "-i", is_flag=True, help="Print the status and the headers of the answer, too.")
@click.option("--url", default="http://127.0.0.1:8000", show_default=True, envvar="LEADWIRE_URL", help="Where it is.")
@click.option("--key", envvar="LEADWIRE_API_KEY", help="The API key (or LEADWIRE_API_KEY).")
@click.option("--json", "as_json", is_flag=True, help="Print the body as it came.")
def api(method: str, path: str, url: str, key: str | None, data: str | None, **more: Any) -> int:
    """Send a request to the /v1 API and print the answer. Exit 1 if it is an error."""
    import httpx

    if not key:
        raise OperatorError(
            "an API key is needed: --key, or LEADWIRE_API_KEY. Make one: leadwire keys create --name me"
        )
    headers = [("Authorization", f"Bearer {key}"), *_pairs(more["header"], ":")]
    if data is not None:
        headers.append(("Content-Type", "application/json"))
    try:
        with httpx.Client(base_url=url, headers=headers, timeout=60, trust_env=False) as client:
            query = tuple(_pairs(more["query"], "="))
            asked = client.build_request(method.upper(), path, params=query, content=_body(data))
            if more["all_pages"]:
                return _print_items(_pages(client, asked))
            return _print(client.send(asked), include=more["include"], as_json=more["as_json"])
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError, UnicodeEncodeError) as error:
        raise OperatorError(f"this cannot be sent: {error}") from error
    except httpx.TransportError as error:
        raise OperatorError(f"{url} does not answer: {error or type(error).__name__}") from error


def _pairs(texts: tuple[str, ...], between: str) -> list[tuple[str, str]]:
    if wrong := [text for text in texts if between not in text]:
        raise OperatorError(f"NAME{between}VALUE, not {wrong[0]}")
    return [(name.strip(), value.strip()) for name, _, value in (text.partition(between) for text in texts)]


def _body(data: str | None) -> bytes | None:
    if data is None or not data.startswith("@"):
        return data.encode() if data is not None else None
    try:
        return sys.stdin.buffer.read() if data == "@-" else Path(data[1:]).read_bytes()
    except OSError as error:
        raise OperatorError(f"{data[1:]} cannot be read: {error.strerror}") from error


def _pages(client: Any, asked: Any) -> Iterator[Any]:
    """The answers of a list's pages. Each tells the address of the next one in `Link`."""
    answer = client.send(asked)
    yield answer
    while following := answer.links.get("next"):
        answer = client.get(urlsplit(following["url"])._replace(scheme="", netloc="").geturl())  # the key is for us
        yield answer


def _print_items(pages: Iterator[Any]) -> int:
    for answer in pages:
        found = answer.json() if answer.is_success else None
        if not isinstance(found, dict) or not isinstance(found.get("data"), list):
            return _print(answer, include=False, as_json=False)
        for item in found["data"]:
            click.echo(_written(item, separators=(",", ":")))
    return 0


def _print(answer: Any, *, include: bool, as_json: bool) -> int:
    if include:
        click.echo(f"{answer.status_code} {answer.reason_phrase}")
        for name, value in answer.headers.multi_items():
            click.echo(f"{name}: {value}")
        click.echo()
    text = answer.text
    if not as_json:
        with contextlib.suppress(ValueError):  # what is not JSON is printed as it came
            text = _written(answer.json(), indent=2)
    if text:
        click.echo(text, err=answer.is_error)
    return int(answer.is_error)


def _written(value: Any, **form: Any) -> str:
    """A value as JSON for a terminal: visitors write what is in it."""
    return _CONTROL.sub(lambda one: f"\\u{ord(one[0]):04x}", json.dumps(value, ensure_ascii=False, **form))

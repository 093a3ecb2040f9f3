"""The document as an HTML page. Every text goes through `escape`."""

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any, Final

from leadwire.interfaces.v1.openapi import types

_INTRO: Final = """<p>The address of this service and an API key, for the examples below:</p>
<pre tabindex="0">export BASE_URL=https://leadwire.example
export API_KEY=lw_...</pre>
<p>The same as a document for machines: <a href="/schema">OpenAPI 3.1</a>.</p>"""


def page(document: Mapping[str, Any]) -> str:
    """The whole page."""
    resolve = _Resolver(document)
    info = document["info"]
    operations = [
        (method, path, operation) for path, item in document["paths"].items() for method, operation in item.items()
    ]
    parts = [f'<section id="start"><h1>{escape(info["title"])} API</h1>{_prose(info["description"])}{_INTRO}</section>']
    for tag in document["tags"]:
        mine = [entry for entry in operations if tag["name"] in entry[2]["tags"]]
        if mine:
            parts.append(
                f'<section id="{escape(tag["name"])}"><h2>{escape(tag["name"])}</h2>{_prose(tag["description"])}'
            )
            parts += [_operation(*entry, resolve) for entry in mine]
            parts.append("</section>")
    parts += [_webhooks(document["webhooks"], resolve), _objects(document["components"]["schemas"])]
    problem = next(schema for name, schema in document["components"]["schemas"].items() if types.is_problem(name))
    parts.append(_errors(operations, resolve, problem))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(info["title"])} API</title>'
        '<link rel="stylesheet" href="/docs.css"></head><body>'
        f'<a class="skip" href="#start">To the text</a>{_navigation(document, operations)}'
        f"<main>{''.join(parts)}</main></body></html>"
    )


class _Resolver:
    """Follows `$ref`, one step."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    def __call__(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        if (ref := value.get("$ref")) is None:
            return value
        found: Any = self._document
        for step in ref.removeprefix("#/").split("/"):
            found = found[step]
        return found  # type: ignore[no-any-return]


def _navigation(document: Mapping[str, Any], operations: list[tuple[str, str, Any]]) -> str:
    made = ['<nav aria-label="Contents"><a class="brand" href="#start">Leadwire API</a>']
    for tag in document["tags"]:
        mine = [operation for _, _, operation in operations if tag["name"] in operation["tags"]]
        entries = [(operation["operationId"], operation["summary"]) for operation in mine]
        if not mine:  # these are no paths of ours
            entries = [(item["post"]["operationId"], kind) for kind, item in document["webhooks"].items()]
        made.append(_list(tag["name"], entries, opened=bool(mine)))
    objects = [(f"object-{name}", name) for name in document["components"]["schemas"] if types.is_object(name)]
    made += [_list("Objects", objects, opened=False), '<h2><a href="#Errors">Errors</a></h2></nav>']
    return "".join(made)


def _list(title: str, entries: Iterable[tuple[str, str]], *, opened: bool) -> str:
    items = "".join(f'<li><a href="#{escape(target)}">{escape(text)}</a></li>' for target, text in entries)
    return f"<details{' open' * opened}><summary>{escape(title)}</summary><ul>{items}</ul></details>"


def _operation(method: str, path: str, operation: Mapping[str, Any], resolve: _Resolver) -> str:
    parameters = [resolve(parameter) for parameter in operation["parameters"]]
    good = operation["responses"]["200"]
    [(_, answer)] = good["content"].items()
    body = next(iter(operation.get("requestBody", {}).get("content", {}).items()), None)
    made = [
        f'<article id="{escape(operation["operationId"])}"><h3>{escape(operation["summary"])}</h3>',
        f'<p class="call"><b class="{method}">{method.upper()}</b> <code>{_breakable(path)}</code></p>',
        _prose(operation["description"]),
        _fields("Parameters", [_parameter(parameter) for parameter in parameters]),
    ]
    if body:
        made.append(
            f"<h4>Body</h4><p>{types.words(body[1]['schema'])}, as {_either(operation['requestBody']['content'])}.</p>"
        )
    made += [
        f'<h4>Example</h4><pre tabindex="0">{escape(_curl(method, path, parameters, body))}</pre>',
        f"<h4>Answer</h4><p>200: {types.words(answer['schema'])}</p>{_json(answer['example'])}",
        _fields(
            "Headers of the answer",
            [(name, "", resolve(value)["description"]) for name, value in good["headers"].items()],
            folded=True,
        ),
        _fields(
            "Other answers",
            [
                (status, "", resolve(value)["description"])
                for status, value in operation["responses"].items()
                if status != "200"
            ],
        ),
        "</article>",
    ]
    return "".join(made)


def _parameter(parameter: Mapping[str, Any]) -> tuple[str, str, str]:
    where = {"query": "", "path": "in the path, ", "header": "header, "}[parameter["in"]]
    return parameter["name"], where + types.words(parameter["schema"]), parameter["description"]


def _either(content: Iterable[str]) -> str:
    return " or ".join(f"<code>{escape(kind)}</code>" for kind in content)


def _curl(method: str, path: str, parameters: list[Mapping[str, Any]], body: tuple[str, Any] | None) -> str:
    for parameter in parameters:
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", parameter["example"])
    if any(parameter["name"] == "limit" for parameter in parameters):
        path += "?limit=20"
    lines = [
        f'curl{"" if method == "get" else f" -X {method.upper()}"} "$BASE_URL{path}"',
        '-H "Authorization: Bearer $API_KEY"',
    ]
    if method != "get":
        lines += [
            f"-H {shlex.quote('Idempotency-Key: ' + p['example'])}"
            for p in parameters
            if p["name"] == "Idempotency-Key"
        ]
    if body:
        lines += [f"-H {shlex.quote('Content-Type: ' + body[0])}", f"-d {shlex.quote(json.dumps(body[1]['example']))}"]
    return " \\\n  ".join(lines)


def _webhooks(webhooks: Mapping[str, Any], resolve: _Resolver) -> str:
    kinds = list(webhooks.items())
    first = kinds[0][1]["post"]
    made = [
        '<section id="Webhooks"><h2>Webhooks</h2>',
        "<p>A POST to every enabled endpoint that subscribes to the event.</p>",
        _fields("Headers", [_parameter(resolve(parameter)) for parameter in first["parameters"]]),
        _fields("Your answer", [(status, "", value["description"]) for status, value in first["responses"].items()]),
    ]
    for kind, item in kinds:
        content = item["post"]["requestBody"]["content"]["application/json"]
        schema = content["schema"]["properties"]["data"]
        data = _described_fields(schema) if "properties" in schema else f"<p>{types.words(schema)}</p>"
        made.append(f'<article id="{escape(item["post"]["operationId"])}"><h3><code>{escape(kind)}</code></h3>')
        made.append(f"<p><code>data</code>:</p>{data}{_json(content['example'], folded=True)}</article>")
    return "".join([*made, "</section>"])


def _objects(schemas: Mapping[str, Any]) -> str:
    made = ['<section id="Objects"><h2>Objects</h2>']
    for name, schema in schemas.items():
        if types.is_object(name):
            made.append(
                f'<article id="object-{escape(name)}"><h3>{escape(name)}</h3>{_prose(schema.get("description", ""))}'
            )
            made.append(_described_fields(schema) + "</article>")
    return "".join([*made, "</section>"])


def _described_fields(schema: Mapping[str, Any]) -> str:
    optional = schema["properties"].keys() - set(schema["required"])
    return _fields(
        "",
        [
            (field, types.words(value) + (", optional" if field in optional else ""), value.get("description", ""))
            for field, value in schema["properties"].items()
        ],
    )


def _errors(operations: list[tuple[str, str, Any]], resolve: _Resolver, problem: Mapping[str, Any]) -> str:
    found: dict[tuple[str, str], str] = {}
    example: Any = None
    for _, _, operation in operations:
        for status, answer in operation["responses"].items():
            content = resolve(answer).get("content", {}).get("application/problem+json", {})
            for code, shown in content.get("examples", {}).items():
                found[status, code] = shown["summary"]
                example = shown["value"] if "errors" in shown["value"] else example
    rows = "".join(
        f'<dt id="error-{escape(code)}"><code>{escape(status)} {_breakable(code)}</code></dt><dd>{_inline(text)}</dd>'
        for (status, code), text in sorted(found.items())
    )
    intro = "<p>Every error is <code>application/problem+json</code> (RFC 9457). Rely on <code>code</code>.</p>"
    # Each status and code has a schema of its own, the same but for these two.
    general = {**problem["properties"], "status": {"type": "integer", "description": "The HTTP status."}}
    general["code"] = {"type": "string", "description": "What to rely on: one of the codes below."}
    told = _described_fields({**problem, "properties": general})
    return f'<section id="Errors"><h2>Errors</h2>{intro}{told}{_json(example)}<h4>Codes</h4><dl>{rows}</dl></section>'


def _fields(title: str, rows: Iterable[tuple[str, str, str]], *, folded: bool = False) -> str:
    """Rows of name, kind (HTML already) and description."""
    entries = "".join(
        f"<dt><code>{_breakable(name)}</code>{f' <i>{kind}</i>' if kind else ''}</dt><dd>{_inline(text)}</dd>"
        for name, kind, text in rows
    )
    if folded:
        return f"<details><summary>{escape(title)}</summary><dl>{entries}</dl></details>"
    return f"{f'<h4>{escape(title)}</h4>' if title else ''}<dl>{entries}</dl>"


def _json(value: Any, *, folded: bool = False) -> str:
    text = f'<pre tabindex="0">{escape(json.dumps(value, indent=2, ensure_ascii=False))}</pre>'
    return f"<details><summary>Example</summary>{text}</details>" if folded else text


def _prose(text: str) -> str:
    return "".join(f"<p>{_inline(paragraph)}</p>" for paragraph in text.split("\n\n") if paragraph)


def _inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _breakable(text: str) -> str:
    return re.sub(r"([/_-])", r"\1<wbr>", escape(text))

"""/clients: the clients of this very version, a wheel for Python and a package of npm. They are put together from the
clients' files, which the server's wheel carries: nothing is built, and nothing is fetched.
"""

import base64
import functools
import gzip
import hashlib
import io
import json
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from leadwire import __version__
from leadwire.interfaces.docs.reference import Json, resolved

PREFIX: Final = "/clients/"
WHEEL: Final = f"leadwire_client-{__version__}-py3-none-any.whl"
TARBALL: Final = f"leadwire-client-{__version__}.tgz"
_PACKAGE: Final = Path(__file__).resolve().parents[2]
_SHIPPED: Final = _PACKAGE / "clients"
_CLIENTS: Final = _SHIPPED if _SHIPPED.is_dir() else _PACKAGE.parent
"""Inside the package in a wheel, else beside it in the checkout."""
_FOLDER: Final = _CLIENTS / "leadwire_client"
_TYPESCRIPT: Final = _CLIENTS / "leadwire_client_ts"
_TAGS: Final = "Wheel-Version: 1.0\nGenerator: leadwire\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@functools.cache
def wheel() -> bytes:
    """The wheel, the same bytes each time."""
    project = tomllib.loads((_FOLDER / "pyproject.toml").read_text())["project"]
    described = {
        "Metadata-Version": "2.4", "Name": project["name"], "Version": __version__, "Summary": project["description"],
        "License-Expression": project["license"], "License-File": "LICENSE",
        "Requires-Python": project["requires-python"], "Description-Content-Type": "text/markdown",
    }  # fmt: skip
    extras = project["optional-dependencies"]
    needs = [*project["dependencies"], *(f"{need}; extra == '{name}'" for name in extras for need in extras[name])]
    lines = [
        *described.items(),
        *(("Provides-Extra", name) for name in extras),
        *(("Requires-Dist", need) for need in needs),
    ]
    metadata = "".join(f"{name}: {value}\n" for name, value in lines) + f"\n{(_FOLDER / 'README.md').read_text()}"
    info = f"leadwire_client-{__version__}.dist-info"
    code = [*sorted(_FOLDER.glob("*.py")), _FOLDER / "py.typed"]
    files = {f"leadwire_client/{path.name}": path.read_bytes() for path in code} | {
        f"{info}/METADATA": metadata.encode(), f"{info}/WHEEL": _TAGS.encode(),
        f"{info}/licenses/LICENSE": (_FOLDER / "LICENSE").read_bytes(),
    }  # fmt: skip
    listed = [f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in files.items()]
    files[f"{info}/RECORD"] = "".join([*listed, f"{info}/RECORD,,\n"]).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)  # of 1980, whenever it is made
            entry.external_attr, entry.compress_type = 0o100644 << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return buffer.getvalue()


def tarball(document: Json) -> bytes:
    """The package of npm, with the types of the document; the same bytes each time."""
    described = json.loads((_TYPESCRIPT / "package.json").read_text())
    described = {name: value for name, value in described.items() if name not in ("scripts", "devDependencies")}
    files = {f"lib/{path.name}": path.read_bytes() for path in sorted((_TYPESCRIPT / "lib").iterdir())} | {
        "lib/schema.d.ts": types(document).encode(),
        "package.json": json.dumps(described, indent=2).encode(),
        "README.md": (_TYPESCRIPT / "README.md").read_bytes(),
        "LICENSE": (_FOLDER / "LICENSE").read_bytes(),
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


_NAMES: Final = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def types(document: Json) -> str:
    """What `schema.d.ts` of the package holds."""
    components = document["components"]
    schemas = [f"export type {name} = {_type(schema)};\n" for name, schema in components["schemas"].items()]
    paths, sent = (resolved(document[part], components) for part in ("paths", "webhooks"))
    operations = {path["operationId"]: _operation(path) for item in paths.values() for path in item.values()}
    webhooks = {kind: f"{{ post: {_operation(item['post'])} }}" for kind, item in sent.items()}
    return "".join([*schemas, _interface("operations", operations), _interface("webhooks", webhooks)])


def _interface(name: str, members: Mapping[str, str]) -> str:
    lines = "".join(f"  {json.dumps(member)}: {text};\n" for member, text in members.items())
    return f"export interface {name} {{\n{lines}}}\n"


def _operation(operation: Json) -> str:
    """Its query, the JSON that it takes, and the JSON of each answer by its status."""
    parts = operation.get("parameters", ())
    query = [_member(part["name"], part, part["schema"]) for part in parts if part["in"] == "query"]
    answers = operation["responses"].items()
    responses = "".join(f"{status}: {_content(answer)}; " for status, answer in answers if status.isdigit())
    parameters = f"parameters: {{ query?: {{ {''.join(query)}}} }}; " if query else ""
    body = f"requestBody: {_content(operation['requestBody'])}; " if "requestBody" in operation else ""
    return f"{{ {parameters}{body}responses: {{ {responses}}} }}"


def _content(message: Json) -> str:
    of_json = message.get("content", {}).get("application/json")
    return f'{{ content: {{ "application/json": {_type(of_json["schema"])} }} }}' if of_json else "{}"


def _member(name: str, described: Json, schema: Json) -> str:
    text = described.get("description", "").replace("*/", "* /")
    said = f"/** {text} */ " if text else ""
    return f"{said}{json.dumps(name)}{'' if described.get('required') is True else '?'}: {_type(schema)}; "


def _type(schema: Json) -> str:
    """The type of a schema. What a value of its type cannot tell, as a length, is left out."""
    kind = schema.get("type")
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    for joined, names in ((" | ", ("oneOf", "anyOf")), (" & ", ("allOf",))):
        if parts := [part for name in names for part in schema.get(name, ())]:
            return joined.join(map(_type, parts))
    if "const" in schema or "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema.get("enum", [schema.get("const")]))
    if isinstance(kind, list):
        return " | ".join(_type({**schema, "type": choice}) for choice in kind)
    if kind == "object":
        return _object(schema)
    return f"({_type(schema['items'])})[]" if kind == "array" else _NAMES.get(str(kind), "unknown")


def _object(schema: Json) -> str:
    needed, values = schema.get("required", ()), schema.get("additionalProperties")
    if "properties" not in schema:
        return f"Record<string, {_type(values) if isinstance(values, dict) else 'unknown'}>"
    members = schema["properties"].items()
    return "{ " + "".join(_member(name, {**part, "required": name in needed}, part) for name, part in members) + "}"

"""The tools: what each needs on the machine, and its command lines. They run in a directory with the document in it."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from leadwire import __version__
from ops.generators.documents import programs

_CLIENTS: Final = Path(__file__).with_name("clients")
_UV_RUN: Final = ("uv", "run", "--quiet", "--no-project")


class Tool(NamedTuple):
    """`files` are copied first, name -> text. `silent`: a word that its output must not have."""

    name: str
    needs: tuple[str, ...]
    steps: tuple[tuple[str, ...], ...]
    files: Mapping[str, str] = MappingProxyType({})
    silent: str = ""


def _text(name: str) -> str:
    return (_CLIENTS / name).read_text()


def _npx(package: str, *arguments: str) -> tuple[str, ...]:
    return ("npx", "--yes", package, *arguments)


# With the client as it is served; the cache may have one of another server that had this port.
_PYRIGHT: Final = f"""{" ".join(_UV_RUN)} --refresh-package leadwire-client --with pyright==1.1.414 --with psycopg \\
    --with "leadwire-client[ed25519] @ $URL/clients/leadwire_client-{__version__}-py3-none-any.whl" pyright"""
# But for what blocks of one page do, as each stands by itself: they import again, and show values that nobody uses.
_STRICT: Final = '{"typeCheckingMode": "strict", "reportDuplicateImport": false, "reportUnusedVariable": false}'

TOOLS: Final = (
    Tool("redocly", ("npx",), (_npx("@redocly/cli@2.77.0", "lint", "openapi.json"),)),
    Tool(
        "spectral",
        ("npx",),
        (_npx("@stoplight/spectral-cli@6.16.3", "lint", "--fail-severity", "hint", "openapi.json"),),
        {".spectral.yaml": "extends: ['spectral:oas']\n"},
    ),
    Tool(
        "kin-openapi",
        ("go",),
        (
            ("go", "mod", "init", "check"),
            ("go", "get", "github.com/getkin/kin-openapi/openapi3@v0.152.0"),
            ("go", "run", ".", "openapi.json"),
        ),
        {"main.go": _text("kin_openapi.go")},
    ),
    Tool(
        "oapi-codegen",
        ("go",),
        (
            ("go", "mod", "init", "check"),
            (
                "go", "run", "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2",
                "-generate", "types,client", "-package", "leadwire", "-o", "leadwire/client.go", "openapi.json",
            ),
            ("go", "get", "github.com/oapi-codegen/runtime@v1.8.0"),
            ("go", "run", "."),
        ),
        {"main.go": _text("oapi_codegen.go"), "leadwire/.keep": ""},
    ),
    Tool(
        "openapi-python-client",
        ("uv",),
        (
            (
                "uv", "tool", "run", "--quiet", "openapi-python-client@0.29.1", "generate", "--path", "openapi.json",
                "--meta", "none", "--output-path", "leadwire_api", "--fail-on-warning",
            ),
            (*_UV_RUN, "--with", "httpx", "--with", "attrs", "--with", "python-dateutil", "python", "check.py"),
        ),
        {"check.py": _text("openapi_python_client.py")},
        silent="WARNING",
    ),
    Tool(
        "openapi-generator",
        ("uv", "java"),
        (
            (
                "uv", "tool", "run", "--quiet", "openapi-generator-cli@7.26.0", "generate", "-i", "openapi.json",
                "-g", "python", "-o", "generated", "--package-name", "leadwire_api",
            ),
            (*_UV_RUN, "--with", "./generated", "python", "check.py"),
        ),
        {"check.py": _text("openapi_generator.py")},
    ),
    Tool(
        "openapi-typescript",
        ("npm", "node"),
        (
            (
                "npm", "install", "--silent", "--no-audit", "--no-fund",
                "openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3", "@types/node@22",
            ),
            ("npx", "openapi-typescript", "openapi.json", "-o", "schema.d.ts"),
            (
                "npx", "tsc", "--strict", "--noUncheckedIndexedAccess", "--module", "nodenext", "--target", "es2022",
                "--types", "node", "check.ts",
            ),
            ("node", "check.js"),
        ),
        {"check.ts": _text("openapi_fetch.ts"), "package.json": '{"type": "module", "private": true}'},
    ),
    Tool(
        "pyright",
        ("uv",),
        (("sh", "-c", _PYRIGHT),),
        {**programs(), "pyrightconfig.json": _STRICT},
    ),
)  # fmt: skip

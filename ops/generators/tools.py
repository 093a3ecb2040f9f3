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
    """`files` are copied first, name -> text. `silent`: a word that its output must not have. `by_name`: it takes too
    long to be run unless it is asked for.
    """

    name: str
    needs: tuple[str, ...]
    steps: tuple[tuple[str, ...], ...]
    files: Mapping[str, str] = MappingProxyType({})
    silent: str = ""
    by_name: bool = False


def _text(name: str) -> str:
    return (_CLIENTS / name).read_text()


def _npx(package: str, *arguments: str) -> tuple[str, ...]:
    return ("npx", "--yes", package, *arguments)


def _npm_install(*packages: str) -> tuple[str, ...]:
    """Install them, and what compiles and types a program for node."""
    compiler = ("typescript@5.9.3", "@types/node@22")
    return ("npm", "install", "--silent", "--no-audit", "--no-fund", *packages, *compiler)


def _openapi_generator(language: str, *options: str) -> tuple[str, ...]:
    """Make a client in `generated`."""
    return (
        "uv", "tool", "run", "--quiet", "openapi-generator-cli@7.26.0", "generate", "-i", "openapi.json",
        "-g", language, "-o", "generated", f"--additional-properties={','.join(options)}",
    )  # fmt: skip


# Without these Java and Go refuse members that they do not know, and Go takes an event for any kind with such members.
_GROWING: Final = ("disallowAdditionalPropertiesIfNotPresent=false", "useOneOfDiscriminatorLookup=true")
_PACKAGE: Final = '{"type": "module", "private": true}'
_COMPILED_AND_RUN: Final = (
    (
        "npx", "tsc", "--strict", "--noUncheckedIndexedAccess", "--module", "nodenext", "--target", "es2022",
        "--types", "node", "check.ts",
    ),
    ("node", "check.js"),
)  # fmt: skip
_ORVAL: Final = """
export default {
  leadwire: { input: "openapi.json", output: { target: "client.ts", client: "fetch", baseUrl: process.env.URL } },
};
"""
_CARGO: Final = """
[package]
name = "check"
version = "1.0.0"
edition = "2021"

[dependencies]
openapi = { path = "generated", default-features = false }  # without TLS
tokio = { version = "1", features = ["macros", "rt"] }

[profile.dev]
debug = false
"""

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
            _openapi_generator("python", "packageName=leadwire_api"),
            (*_UV_RUN, "--with", "./generated", "python", "check.py"),
        ),
        {"check.py": _text("openapi_generator.py")},
    ),
    Tool(
        "go",
        ("uv", "java", "go"),
        (
            ("go", "mod", "init", "check"),
            _openapi_generator("go", "packageName=leadwire", "withGoMod=false", *_GROWING),
            ("go", "get", "gopkg.in/validator.v2@v2.0.1"),
            ("go", "run", "."),
        ),
        {"main.go": _text("openapi_generator.go")},
    ),
    Tool(
        "java",
        ("uv", "javac", "mvn"),
        (
            _openapi_generator("java", *_GROWING),
            (
                "mvn", "--quiet", "--batch-mode", "--file", "generated", "compile",
                "org.codehaus.mojo:exec-maven-plugin:3.5.0:java", "-Dexec.mainClass=Check",
            ),
        ),
        {"generated/src/main/java/Check.java": _text("openapi_generator.java")},
    ),
    Tool(
        "rust",
        ("uv", "java", "cargo"),
        # With chrono it writes times of a query with spaces, which ISO 8601 has not.
        (_openapi_generator("rust", "useChrono=false"), ("cargo", "run", "--quiet")),
        {"src/main.rs": _text("openapi_generator.rs"), "Cargo.toml": _CARGO},
        by_name=True,
    ),
    Tool(
        "openapi-typescript",
        ("npm", "node"),
        (
            _npm_install("openapi-typescript@7.13.0", "openapi-fetch@0.17.0"),
            ("npx", "openapi-typescript", "openapi.json", "-o", "schema.d.ts"),
            *_COMPILED_AND_RUN,
        ),
        {"check.ts": _text("openapi_fetch.ts"), "package.json": _PACKAGE},
    ),
    Tool(
        "orval",
        ("npm", "node"),
        (_npm_install("orval@8.38.0"), ("npx", "orval", "--fail-on-warnings"), *_COMPILED_AND_RUN),
        {"check.ts": _text("orval.ts"), "package.json": _PACKAGE, "orval.config.js": _ORVAL},
    ),
    Tool(
        "pyright",
        ("uv",),
        (("sh", "-c", _PYRIGHT),),
        {**programs(), "pyrightconfig.json": _STRICT},
    ),
)  # fmt: skip

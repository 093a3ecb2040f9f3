"""The programs of the documents in Python, as files, for whoever checks their types."""

import re
import textwrap
import tomllib
from pathlib import Path
from typing import Final

from ops import package

_PAGES: Final = (package.ROOT / "src" / "leadwire" / "docs", package.ROOT / "src" / "leadwire_client")
_SAMPLES: Final = package.ROOT / "src" / "leadwire" / "interfaces" / "docs" / "samples.toml"
_VERIFIERS: Final = package.ROOT / "src" / "leadwire" / "domain" / "webhooks" / "verifiers"
_SAMPLE: Final = """
def {name}(lw: Leadwire, LEAD: str, CONVERSATION: str, BOT: str, EVENT: str, EXPORT: str) -> None:
{body}
"""


def programs() -> dict[str, str]:
    """The Python of each page, block after block, what verifies, and the samples of the reference, by their files."""
    pages = [page for folder in _PAGES for page in folder.glob("*.md")]
    found = {_file(page): re.findall(r"```python\n(.+?)```", page.read_text(), re.DOTALL) for page in pages}
    found["verifiers.py"] = [(_VERIFIERS / name).read_text() for name in ("python.txt", "python-key.txt")]
    found["samples.py"] = ["from leadwire_client import Leadwire"] + [
        _SAMPLE.format(name=name, body=textwrap.indent(sample["python"], "    "))
        for name, sample in tomllib.loads(_SAMPLES.read_text()).items()
    ]
    return {name: "\n".join(parts) for name, parts in found.items() if parts}


def _file(page: Path) -> str:
    return f"{page.stem.replace('-', '_')}.py"

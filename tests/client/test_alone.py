"""The client stands alone: beside httpx and msgspec it imports neither the server's packages nor a database driver."""

import pathlib
import subprocess
import sys

import leadwire
import leadwire.client

_PROGRAM = """
import sys
import httpx, msgspec
before = set(sys.modules)
import leadwire.client
print(*set(sys.modules) - before)
"""


def test_importing_it_imports_nothing_else():
    ran = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    loaded = {*ran.stdout.split()}
    assert {"leadwire.client", "leadwire.client.verify"} <= loaded
    others = {name for name in loaded if name.partition(".")[0] not in sys.stdlib_module_names}
    assert {name for name in others if not name.startswith("leadwire.client")} == {"leadwire"}


def test_its_types_are_for_everybody():
    assert (pathlib.Path(leadwire.__file__).parent / "py.typed").exists()
    for name in leadwire.client.__all__:
        assert hasattr(leadwire.client, name)

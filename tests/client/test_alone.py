"""The client stands alone: beside httpx and msgspec it imports neither the server's packages nor a database driver."""

import pathlib
import subprocess
import sys

import leadwire_client

_PROGRAM = """
import sys
import httpx, msgspec
before = set(sys.modules)
import leadwire_client
print(*set(sys.modules) - before)
"""


def test_importing_it_imports_nothing_else():
    ran = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    loaded = {*ran.stdout.split()}
    assert {"leadwire_client", "leadwire_client.verify"} <= loaded
    others = {name for name in loaded if name.partition(".")[0] not in sys.stdlib_module_names}
    assert {name.partition(".")[0] for name in others} == {"leadwire_client"}


def test_its_types_are_for_everybody():
    assert (pathlib.Path(leadwire_client.__file__).parent / "py.typed").exists()
    for name in leadwire_client.__all__:
        assert hasattr(leadwire_client, name)

"""The OpenAPI document in other people's tools: `python -m ops.generators`.

Linters read it, generators make clients of it, and each client calls a server of our own. A tool whose runtime (node,
Go, Java, Rust) is not on the machine is skipped, and said to be. `tools.py` has the versions, and says what is run by
name only. Pyright reads the programs of the documents, which the tests read with mypy and tsc.
"""

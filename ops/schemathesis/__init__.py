"""Requests made up from the OpenAPI document, thousands of them: `python -m ops.schemathesis`.

It starts servers of its own, seeds them, and throws them away; or tests a running one with `--url` and `--key`.
The test `tests/interfaces/v1/test_schemathesis.py` is a short run of the same.
"""

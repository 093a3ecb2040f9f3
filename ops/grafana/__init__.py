"""Dashboards as code: `uv run python -m ops.grafana` writes the three JSON files beside it.

Written by hand in few lines: the libraries that make Grafana's JSON are larger than these boards, and bound to one of
its versions. The panels used have been the same since Grafana 9.
"""

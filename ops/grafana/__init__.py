"""Dashboards as code, made with Grafana's own library: `uv run python -m ops.grafana` writes the three JSON files."""

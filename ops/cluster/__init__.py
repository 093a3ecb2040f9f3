"""Leadwire on a dozen hosts, which are network namespaces of this machine: `sudo uv run python -m ops.cluster`."""

"""What the wire does: `uv run python -m ops.bench.delivery`."""

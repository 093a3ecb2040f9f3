"""Benchmarks of webhook delivery: `uv run python -m ops.bench.delivery`."""

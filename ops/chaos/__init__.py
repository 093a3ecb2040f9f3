"""The proof that deliveries are never lost, under faults of every kind: `uv run python -m ops.chaos`."""

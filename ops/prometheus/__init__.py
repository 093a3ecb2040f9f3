"""Recording and alert rules as code: `uv run python -m ops.prometheus` writes `rules.yml`.

Written by code because burn rates repeat one expression for many windows, and because each alert's runbook follows from
its name. What pages is work that is past its time or a promise being broken, not the depth of a queue.
"""

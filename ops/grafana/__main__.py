"""Write the dashboards: `uv run python -m ops.grafana`."""

from pathlib import Path

from ops.grafana import boards
from ops.grafana.panels import text

for name, board in boards.ALL.items():
    path = Path(__file__).with_name(f"{name}.json")
    path.write_text(text(board))
    print(f"{path} is written.")

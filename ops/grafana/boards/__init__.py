"""Three dashboards: is all well (overview), where does it stop (delivery), who waits (api).

What one relay looks up for all is shown by `max`: two show it for a moment when the one changes.
"""

from typing import Final

from ops.grafana.boards.api import API
from ops.grafana.boards.delivery import DELIVERY
from ops.grafana.boards.overview import OVERVIEW

ALL: Final = {"overview": OVERVIEW, "delivery": DELIVERY, "api": API}

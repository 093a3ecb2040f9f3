"""Once an hour, counts are deleted that no figures show."""

from leadwire.domain.bots.changes import counts
from leadwire.infrastructure.jobs import chore

chore("bot_count.delete")(counts.delete_old)

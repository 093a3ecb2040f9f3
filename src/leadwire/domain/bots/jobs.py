"""Silent conversations are nudged and ended; once an hour, counts are deleted that no figures show."""

from leadwire.domain.bots.changes import counts
from leadwire.domain.bots.visitors import inactivity
from leadwire.infrastructure.jobs import chore, job

job("silence", at_once=4, find=inactivity.silent, every=30)(inactivity.nudge_or_end)
chore("bot_count.delete")(counts.delete_old)

"""Silent conversations are nudged and ended."""

from leadwire.domain.bots.visitors import inactivity
from leadwire.infrastructure.jobs import job

job("silence", at_once=4, find=inactivity.silent, every=30)(inactivity.nudge_or_end)

"""Once an hour, changes of many leads are deleted that ended long ago."""

from leadwire.domain.bulk_changes import changes
from leadwire.infrastructure.jobs import chore

chore("bulk_change.delete")(changes.delete_old)

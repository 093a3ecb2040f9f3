"""Once an hour, exports are deleted that have long expired."""

from leadwire.domain.exports import changes
from leadwire.infrastructure.jobs import chore

chore("export_job.delete")(changes.delete_old)

"""Once an hour, old mails are deleted."""

from leadwire.domain.mail.changes import attempts
from leadwire.infrastructure.jobs import chore

chore("mail.delete")(attempts.delete_old)

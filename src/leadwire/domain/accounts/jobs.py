"""Once an hour, what has ended is deleted."""

from leadwire.domain.accounts.sign_in.changes import password_reset, sessions
from leadwire.domain.accounts.sso.changes import sign_in
from leadwire.infrastructure import idempotency_store
from leadwire.infrastructure.jobs import chore

chore("session.delete")(sessions.delete_ended)
chore("password_reset.delete")(password_reset.delete_expired)
chore("sign_on_used.delete")(sign_in.forget_used)
chore("idempotent_answer.delete")(idempotency_store.expire)  # of requests with the accounts' keys

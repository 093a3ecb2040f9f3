"""Mail: written in the transaction of its cause, sent by jobs, retried as webhooks are."""

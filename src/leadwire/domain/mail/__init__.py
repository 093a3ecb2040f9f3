"""Mail: written in the transaction of its cause, sent by the relay process, retried as webhooks are."""

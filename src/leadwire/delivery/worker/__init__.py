"""Claim what the streams name, sign and POST it, record the outcome, only then acknowledge. Any number of
processes."""

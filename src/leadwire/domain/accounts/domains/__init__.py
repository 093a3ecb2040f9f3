"""Domains of e-mail addresses, each proven by a TXT record before a workspace may rely on it.

A provider may assert only addresses of a proven domain, and the sign-in page leads its people to that provider.
`schema.py` says what follows from a record, `changes.py` looks for it and notes what came of it.
"""

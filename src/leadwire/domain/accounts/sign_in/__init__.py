"""Signing in by password, second factor or passkey; sessions; and what is done about guesses.

`changes/` has the ways in, a file each, and sessions. `passwords.py` hashes, `limits.py` counts tries, `failures.py`
notes those that fail in the audit log.
"""

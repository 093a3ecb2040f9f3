"""Signing in by password, second factor or passkey; sessions; and what is done about guesses.

`changes/` has the ways in, a file each, and sessions. `passwords.py` hashes; `tries.py` limits how often one
may try, and notes what fails in the audit log.
"""

"""The audit log: written in the transaction of each change, then chained, so that what is altered by hand is found.

`chain.py` says how entries are hashed, `jobs.py` does it, `reads.py` lists, exports and verifies them.
"""

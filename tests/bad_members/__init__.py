"""One bad member of each kind of work: everybody else's goes on.

`python -m tests.bad_members` prints the table.
"""

"""What is one step, in the files of Lua beside us. Of one stream: KEYS[1] is the stream, ARGV[1] the group.

No MULTI: in a cluster redis-py starts a thread for each command of one.
"""

from pathlib import Path

ADD, DONE, LEAVE, STATE = (
    Path(__file__).with_name(f"{name}.lua").read_text(encoding="utf-8") for name in ("add", "done", "leave", "state")
)

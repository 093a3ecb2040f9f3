"""The jobs, where they stand, and what they are to send again."""

from typing import Literal

from piccolo.columns import Array, Boolean, Integer, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure.db import DB

JobState = Literal["running", "paused", "cancelled", "finished"]


class RedriveJob(Table, db=DB, tablename="redrive_job"):
    """One job. It goes through its deliveries by event and endpoint, and has done all up to `after_*`."""

    id = Text(primary_key=True)
    workspace_id = Text()
    endpoint_id = Text(null=True, default=None)  # null: every endpoint of the workspace
    replay = Boolean()  # every event to this endpoint, not only its dead letters
    kinds = Array(Text(), null=True, default=None)
    outcomes = Array(Text(), null=True, default=None)
    first_event = Text()  # the range of event ids, which is one of time
    end_event = Text()
    per_second = Integer()
    state = Text()
    total = Integer()  # when it was made: more may have died since, or been sent by hand
    done = Integer(default=0)
    after_event = Text(default="")
    after_endpoint = Text(default="")
    stepped_at = Timestamptz()
    created_at = Timestamptz()
    updated_at = Timestamptz()

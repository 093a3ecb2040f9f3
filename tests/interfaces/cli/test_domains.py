"""`leadwire doctor` names the domains that count without a proof."""

from datetime import timedelta

from leadwire.infrastructure import clock, db
from tests import make
from tests.interfaces.cli.conftest import examined


async def test_doctor_names_what_counts_without_a_proof_and_until_when(sound, workspace):
    await make.domain(workspace, "b.example", proven=True)
    found = examined(**sound)[1]["domains"]
    assert (found["level"], found["says"]) == ("ok", "none counts without a proof")
    await make.domain(workspace, "a.example")
    until = clock.now() + timedelta(days=1)
    found = examined(**sound)[1]["domains"]
    assert (found["level"], found["says"]) == ("warning", f"not proven: a.example until {until:%Y-%m-%d}")
    await db.rows("UPDATE email_domain SET taken_over_until = now() - interval '1 second'")
    assert examined(**sound)[1]["domains"]["level"] == "ok"

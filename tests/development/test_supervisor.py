"""What `up` does with its children's logs."""

import asyncio
import contextlib
import stat

from leadwire_development.supervisor import Child
from tests.waiting import eventually


async def test_logs_of_children_are_for_their_owner_alone(tmp_path):
    (tmp_path / "fake.py").write_text("import sys; print('up', flush=True); sys.stdin.read()")
    log = tmp_path / "child.log"
    log.touch(mode=0o644)
    child = Child("child", [], {"PYTHONPATH": str(tmp_path)}, tmp_path, module="fake")
    await child.start()
    keeping = asyncio.create_task(child.keep_running(lambda: None))
    await eventually(lambda: keeping.done() or log.read_text() == "up\n")
    assert not keeping.done(), keeping.exception()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    keeping.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await keeping
    await child.stop()

"""Lighthouse, without a network: performance, accessibility and best practices of screens.

It is not among our dependencies: `npm install --global lighthouse` puts it on the PATH. Performance is that of this
machine; while it does other things too, the figure says little.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

_KINDS = ("performance", "accessibility", "best-practices")
_LEAST = 0.9
_FLAGS = "--headless=new --no-sandbox --disable-gpu"
_LIMIT = 300  # seconds
_TRIES = 3  # on a busy machine Chromium's trace may miss the beginning


def audit(name: str, url: str, cookie: str, chromium: str, out: Path) -> bool:
    """Print the figures of one screen, keep its report in `out`; answers whether all are good."""
    if not (program := shutil.which("lighthouse")):
        raise SystemExit("needs Lighthouse: npm install --global lighthouse")
    headers, report = out / "headers.json", out / f"{name}.json"
    headers.write_text(json.dumps({"Cookie": cookie}))
    command = [program, url, f"--extra-headers={headers}", "--preset=desktop", f"--only-categories={','.join(_KINDS)}"]
    command += ["--output=json", f"--output-path={report}", "--quiet", f"--chrome-flags={_FLAGS}"]
    environ = {**os.environ, "CHROME_PATH": chromium}
    tries = (subprocess.run(command, check=False, env=environ, timeout=_LIMIT) for _ in range(_TRIES))
    done = any(one.returncode == 0 for one in tries)
    headers.unlink()
    if not done:
        print(f"  {name:24} could not be looked at")
        return False
    found: dict[str, Any] = json.loads(report.read_text())
    scores = [found["categories"][kind]["score"] for kind in _KINDS]
    moved = found["audits"]["cumulative-layout-shift"]["numericValue"]
    painted = found["audits"]["largest-contentful-paint"]["numericValue"]
    figures = " ".join(f"{kind} {score * 100:.0f}" for kind, score in zip(_KINDS, scores, strict=True))
    print(f"  {name:24} {figures}, largest paint {painted:.0f} ms, moved {moved:.3f}", flush=True)
    for key in {ref["id"] for kind in _KINDS[1:] for ref in found["categories"][kind]["auditRefs"]}:
        if found["audits"][key]["score"] == 0:
            print(f"    {found['audits'][key]['title']}")
    return min(scores) >= _LEAST

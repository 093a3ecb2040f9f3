"""What a production install is made of: a bill of materials, its licenses, and what is known against it.

    uv run python -m ops.supply [DIRECTORY]       # dist, unless told
    uv run python -m ops.supply --strict          # where PyPI can be reached: every release has to be checked

Writes `sbom.cdx.json` (CycloneDX 1.5, from the lock), `client-sbom.cdx.json` and `licenses.csv` there, then asks
pip-audit about every locked release, and names those that it could not check. Exit 1 when a license is not a permissive
one or there is an advisory, and with `--strict` also when a release was not checked.
"""

import argparse
import csv
import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXPORT = ("uv", "export", "--quiet", "--frozen", "--no-default-groups", "--all-extras", "--no-emit-workspace")
# SPDX names and what older metadata says for them. MPL-2.0 binds changes of its own files only.
PERMISSIVE = re.compile(
    r"(MIT|MIT-0|Apache|BSD|ISC|PSF|Python Software Foundation|Unlicense|0BSD|Zlib|CC0|PostgreSQL|MPL-2\.0|Mozilla)",
    re.IGNORECASE,
)


def export(*more: str) -> str:
    """What the lock installs in production, with the embedded servers."""
    return subprocess.run([*EXPORT, *more], check=True, cwd=ROOT, capture_output=True, text=True).stdout


def license_of(package: str) -> str:
    """What the installed package says of itself; empty when it is not installed on this platform."""
    try:
        known = metadata.metadata(package)
    except metadata.PackageNotFoundError:
        return ""
    classifiers = [line.rpartition(" :: ")[2] for line in known.get_all("Classifier") or [] if "License ::" in line]
    text = (known.get("License") or "").strip().partition("\n")[0]
    return known.get("License-Expression") or ", ".join(classifiers) or text or _title(package) or "unknown"


def _title(package: str) -> str:
    """The first line of the license that the package carries, for one that names none in its metadata."""
    files = [
        file for file in metadata.files(package) or () if re.search(r"dist-info/(licenses/)?LICEN[CS]E", str(file))
    ]
    lines = files[0].read_text().split("\n") if files else []
    return next((line.strip() for line in lines if line.strip()), "")


def advisories(requirements: Path) -> tuple[dict[str, list[str]], str]:
    """The advisories about each release that could be checked, by its package; and why others could not."""
    ran = subprocess.run(
        ["uvx", "pip-audit", "--disable-pip", "--require-hashes", "-f", "json", "-r", requirements],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    try:
        releases = json.loads(ran.stdout)["dependencies"]
    except ValueError:
        return {}, f"pip-audit could not run: {(ran.stderr.splitlines() or ['no answer'])[0]}"
    checked = {one["name"]: [fault["id"] for fault in one["vulns"]] for one in releases if "vulns" in one}
    return checked, next((one["skip_reason"] for one in releases if "skip_reason" in one), "pip-audit left it out")


def bills(directory: Path) -> str:
    """Write both bills of materials. Return the server's."""
    bill = export("--format", "cyclonedx1.5")
    (directory / "sbom.cdx.json").write_text(bill)
    (directory / "client-sbom.cdx.json").write_text(export("--format", "cyclonedx1.5", "--package", "leadwire-client"))
    return bill


def main(directory: Path, *, strict: bool = False) -> int:
    directory.mkdir(parents=True, exist_ok=True)
    bill = bills(directory)
    parts = sorted((one["name"], one["version"]) for one in json.loads(bill)["components"])
    licenses = [(name, version, license_of(name)) for name, version in parts]
    with (directory / "licenses.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("package", "version", "license"), *licenses])
    faults = [f"{name}: license {said}" for name, _, said in licenses if said and not PERMISSIVE.search(said)]
    absent = [name for name, _, said in licenses if not said]
    print(f"{len(parts)} packages; licenses not read, as not of this platform: {', '.join(absent) or 'none'}")

    requirements = directory / "requirements.txt"
    requirements.write_text(re.sub(r" ; [^\\\n]*", " ", export()))  # without markers: of every platform
    checked, reason = advisories(requirements)
    faults += [f"{name} {version}: {fault}" for name, version in parts for fault in checked.get(name, ())]
    unchecked = [name for name, _ in parts if name not in checked]
    print("\n".join(faults) or "no advisory in what was checked, no license that binds")
    print(f"advisories checked for {len(parts) - len(unchecked)} of {len(parts)} packages")
    if unchecked:
        print(f"not checked ({reason}): {', '.join(unchecked)}")
    return 1 if faults or (strict and unchecked) else 0


if __name__ == "__main__":
    options = argparse.ArgumentParser(prog="python -m ops.supply")
    options.add_argument("directory", nargs="?", type=Path, default=ROOT / "dist")
    options.add_argument("--strict", action="store_true", help="fail when a release could not be checked")
    chosen = options.parse_args()
    sys.exit(main(chosen.directory, strict=chosen.strict))

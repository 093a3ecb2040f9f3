"""A release: its version is everywhere, what it was made from is told, and what is not ready is refused."""

import json
import tomllib
from datetime import UTC, datetime

import pytest

from ops import release

CHANGELOG = "# Changelog\n\n## 9.8.7\n\n- Something.\n"


def test_a_version_that_the_changelog_does_not_know_is_refused(tmp_path):
    with pytest.raises(SystemExit, match=r"has no chapter 9\.8\.7"):
        release.checkout("HEAD", "9.8.7", tmp_path)


def test_the_version_is_written_wherever_one_is(tmp_path, monkeypatch):
    monkeypatch.setattr(release, "_CHANGELOG", "changed.md")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "changed.md").write_text(CHANGELOG)
    made = release.checkout("HEAD", "9.8.7", tmp_path)
    for name in ("pyproject.toml", "src/leadwire_client/pyproject.toml", "src/leadwire_development/pyproject.toml"):
        assert tomllib.loads((made / name).read_text())["project"]["version"] == "9.8.7"
    assert json.loads((made / "src/leadwire_client_ts/package.json").read_text())["version"] == "9.8.7"
    for name, form in release._VERSION:
        assert (made / name).read_text().count(form.format("9.8.7")) == 1, name


@pytest.mark.parametrize("tag", ["0.2.0", "v0.2", "v0.2.0-beta", "latest", "v0.2.0; rm -rf"])
def test_only_versions_are_tags_of_releases(tag, tmp_path):
    with pytest.raises(SystemExit, match="is no tag of a release"):
        release.main(tag, tmp_path / "dist", tagged=True)


def test_the_provenance_names_every_file_and_the_commit(tmp_path):
    (tmp_path / "one.whl").write_bytes(b"one")
    files = release.digests(tmp_path)
    told = release.provenance("v9.8.7", "c" * 40, datetime(2026, 1, 2, tzinfo=UTC), files)
    assert told["subject"] == [{"name": "one.whl", "digest": {"sha256": files["one.whl"]}}]
    built = told["predicate"]["buildDefinition"]
    assert built["externalParameters"] == {"tag": "v9.8.7"}
    assert built["resolvedDependencies"][0]["digest"] == {"gitCommit": "c" * 40}
    assert told["predicate"]["runDetails"]["metadata"]["startedOn"] == "2026-01-02T00:00:00+00:00"

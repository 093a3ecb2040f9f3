"""How templates are read."""

import os

import jinja2

from leadwire.interfaces.web import rendering


def test_a_template_is_read_once(tmp_path, monkeypatch):
    """An upgrade may replace it under a process that has the screens of the version before."""
    monkeypatch.setattr(rendering, "LOADERS", [jinja2.FileSystemLoader(tmp_path), *rendering.LOADERS])
    (page := tmp_path / "of_a_test.html").write_text("before")
    environment = rendering.environment.__wrapped__()
    assert environment.get_template(page.name).render() == "before"
    page.write_text("after")
    os.utime(page, (0, 0))
    assert environment.get_template(page.name).render() == "before"

"""What the setup shows beside each step: a sample of every event, and a check of the signature in five languages."""

import functools
from pathlib import Path
from typing import Final

from leadwire.delivery import envelope
from leadwire.domain.webhooks.samples import SAMPLES
from leadwire.infrastructure import clock

LANGUAGES: Final = {"python": "Python", "node": "Node", "php": "PHP", "go": "Go", "shell": "Shell"}
_FOLDER: Final = Path(__file__).with_name("verifiers")
_AT: Final = clock.parse("2026-01-02T03:04:05.678Z")


@functools.cache
def verifiers(prefix: str) -> dict[str, str]:
    """Language -> code, for headers that begin with `prefix`."""
    forms = {
        "{prefix}": prefix,
        "{prefix_lower}": prefix.lower(),
        "{prefix_php}": prefix.upper().replace("-", "_"),
    }
    made = {}
    for name, language in LANGUAGES.items():
        code = (_FOLDER / f"{name}.txt").read_text()
        for form, text in forms.items():
            code = code.replace(form, text)
        made[language] = code
    return made


@functools.cache
def samples() -> dict[str, str]:
    """Event kind -> the body that a delivery of it would have."""
    return {kind: envelope.encode(kind, _AT, data) for kind, data in SAMPLES.items()}  # type: ignore[arg-type]

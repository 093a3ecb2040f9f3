"""What the HTTP interfaces share. Knows nothing of leads or conversations."""

from typing import Final

NOT_TRUSTED: Final = "leadwire:proxy-not-trusted"
"""The Redis key that exists when a proxy that is not trusted was seen within a day."""

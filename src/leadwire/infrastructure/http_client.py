"""The HTTP client, imported here and nowhere else: a successor with the same names takes its place in this line."""

import httpx

__all__ = ["httpx"]

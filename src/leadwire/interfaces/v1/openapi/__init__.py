"""The OpenAPI 3.1 document of /v1. `ops/decisions/9-signatures.md` says why it is not Litestar's."""

from leadwire.interfaces.v1.openapi.document import document

__all__ = ["document"]

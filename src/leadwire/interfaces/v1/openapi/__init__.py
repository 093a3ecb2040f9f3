"""The OpenAPI 3.1 document of /v1, which /schema serves, and from which pages of /docs are made.

`ops/decisions/9-signatures.md` says why the document is not Litestar's.
"""

from leadwire.interfaces.v1.openapi.document import document as document

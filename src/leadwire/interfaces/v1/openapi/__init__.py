"""The OpenAPI 3.1 document, made from what the handlers really are: their routes, scopes, structs and `Doc`.

Litestar's own generator does not see queries and bodies that are read strictly, so it would not tell the truth.
"""

from leadwire.interfaces.v1.openapi.doc import Doc
from leadwire.interfaces.v1.openapi.document import document

__all__ = ["Doc", "document"]

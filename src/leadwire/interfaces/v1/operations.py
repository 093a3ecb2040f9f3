"""Operations of /v1 and /receiver/v1: the signature of a handler says what it takes and what it returns.

    @patch("/{lead_id:str}", scope="leads:write", raises=[LeadConflict])
    async def update_lead(caller: Caller, lead_id: str, expected: IfMatch) -> Tagged[Lead]: ...

Requests are read, responses made and the OpenAPI document written from it. The signature is read once, at import:
injection by Litestar costs 69 us a request (`python -m ops.bench.injection`), 30 % of a GET of one lead.
"""

import functools
import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import ModuleType
from typing import Annotated, Any, Final, Generic, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from litestar import HttpMethod, Request, route
from litestar.handlers import HTTPRouteHandler
from msgspec import Struct

from leadwire.domain.accounts import schema as accounts
from leadwire.infrastructure import errors
from leadwire.infrastructure.errors import DomainError
from leadwire.interfaces.http import body, requests, responses, streams
from leadwire.interfaces.http.responses import Feed, JSONResponse, Page, Single, Tagged
from leadwire.interfaces.http.streams import Download

S = TypeVar("S", bound=Struct)
P = TypeVar("P", bound=Struct)
Handler = Callable[
    ..., Awaitable[Page[Any] | Feed[Any] | Single[Any] | Tagged[Any] | Download[Any] | JSONResponse[Any]]
]

_BODY_ERRORS: Final = (
    errors.MalformedJson, errors.BodyTooLarge, errors.UnsupportedMediaType,
    errors.Invalid, errors.UnknownField, errors.ReadOnlyField,
)  # fmt: skip
RESPONSES: dict[Any, Callable[..., JSONResponse[Any]]] = {
    Page: responses.page,
    Feed: responses.feed,
    Single: lambda _, resource: JSONResponse(resource),
    Tagged: responses.tagged,
    Download: streams.StreamResponse,
    JSONResponse: lambda _, response: response,
}


class Input(NamedTuple):
    """Where one parameter of a handler comes from, and what the document says of it."""

    read: Callable[["Request[Any, Any, Any]"], Any]
    """A plain function, or one to await."""
    errors: tuple[type[DomainError], ...] = ()
    query: type[Struct] | None = None
    body: type[Struct] | None = None
    header: str = ""


def _query(model: type[Struct]) -> Input:
    def read(request: "Request[Any, Any, Any]") -> Struct:
        return requests.parse(requests.pairs_of(request.scope["query_string"]), model)

    return Input(read, (errors.InvalidParameter, errors.UnknownParameter), query=model)


class Nothing(Struct, frozen=True):
    """The query of an operation that has no parameters."""


NO_QUERY: Final = _query(Nothing)
"""An unknown parameter is refused by every operation: whoever misspells one learns of it."""


class Change(NamedTuple, Generic[P, S]):
    """A merge patch of an `S` (RFC 7396), as it was sent."""

    patch: P
    unchanged: dict[str, Any]
    """Members of `S` that are not `P`'s: they are read-only, and must have their present value."""


def _merge_patch(change: Any) -> Input:
    patch, resource = get_args(change)
    read_only = frozenset(resource.__struct_fields__) - frozenset(patch.__struct_fields__)

    async def read(request: "Request[Any, Any, Any]") -> Change[Any, Any]:
        members = await body.json_object(request)
        unchanged = {name: value for name, value in members.items() if name in read_only}
        return Change(body.fields(members, patch, also=read_only), unchanged)

    return Input(read, _BODY_ERRORS, body=patch)


def _body(model: type[Struct]) -> Input:
    async def read(request: "Request[Any, Any, Any]") -> Struct:
        return body.fields(await body.json_object(request), model)

    return Input(read, _BODY_ERRORS[:-1], body=model)


Asked = Annotated[Request[Any, Any, Any], Input(lambda request: request)]
"""The request itself."""
Caller = Annotated[accounts.Caller, Input(lambda request: request.scope["auth"])]
"""Whose API key it is."""
Body = Annotated[S, _body]
"""The body as an `S`."""
Query = Annotated[S, _query]
"""The query string as an `S`."""
IfMatch = Annotated[
    frozenset[int] | None,
    Input(requests.expected_versions, (errors.InvalidParameter, errors.PreconditionFailed), header="If-Match"),
]
"""The versions that the resource may have; None for any."""
MergePatch = Annotated[Change[P, S], _merge_patch]
"""The body, which changes an `S` by a `P`."""


class Operation(NamedTuple):
    """What is known of a handler."""

    path: str
    method: str
    handler: Handler
    scope: str
    raises: Sequence[type[DomainError]]
    example: Mapping[str, Any] | None
    """A body, where there is one."""
    inputs: Mapping[str, Input]
    """By the name of the parameter."""
    status: int
    """Of a good response."""
    envelope: Any
    """`Page`, `Feed`, `Single`, `Tagged` or `Download`; `JSONResponse` where a handler makes its response itself."""
    data: Any
    """What is in the envelope."""

    @property
    def name(self) -> str:
        return self.handler.__name__

    @property
    def module(self) -> ModuleType:
        """The operations of one resource: they have its name, and its docstring describes them."""
        return sys.modules[self.handler.__module__]

    @property
    def tag(self) -> str:
        """The resource."""
        return self.module.__name__.rpartition(".")[2].capitalize()

    @property
    def takes_query(self) -> bool:
        """Whether it has parameters beside the path."""
        return any(part.query for part in self.inputs.values())

    @property
    def path_parameter(self) -> str | None:
        """The id in the path."""
        return next((name for name in self.inputs if f"{{{name}" in self.path), None)


def _declare(
    methods: list[HttpMethod],
    path: str,
    *,
    scope: str,
    status: int = 200,
    raises: Sequence[type[DomainError]] = (),
    example: Mapping[str, Any] | None = None,
    **options: Any,
) -> Callable[[Handler], HTTPRouteHandler]:
    """Declare a handler. `scope` is what its caller's key must have; `raises`, the errors that no type tells of.
    `options` are for the middleware of its router.
    """

    def declare(handler: Handler) -> HTTPRouteHandler:
        hints = get_type_hints(handler, include_extras=True)
        returns = hints.pop("return")
        inputs = {name: _input(name, hint, path) for name, hint in hints.items()}
        operation = Operation(
            path, methods[0].lower(), handler, scope, raises, example, inputs, status, get_origin(returns),
            get_args(returns)[0],
        )  # fmt: skip
        endpoint = _endpoint(operation)
        return route(path, http_method=methods, status_code=status, scope=scope, operation=operation, **options)(
            endpoint
        )

    return declare


get = functools.partial(_declare, [HttpMethod.GET, HttpMethod.HEAD])
post = functools.partial(_declare, [HttpMethod.POST])
patch = functools.partial(_declare, [HttpMethod.PATCH])
delete = functools.partial(_declare, [HttpMethod.DELETE])


def _input(name: str, hint: Any, path: str) -> Input:
    if f"{{{name}:str}}" in path:
        return Input(lambda request: request.scope["path_params"][name], (errors.NotFound,))
    if get_origin(hint) is not Annotated:
        raise TypeError(f"{name} is neither in the path {path} nor of a type that says where it comes from")
    source = hint.__metadata__[0]
    return source if isinstance(source, Input) else source(hint.__origin__)


def _endpoint(operation: Operation) -> Callable[["Request[Any, Any, Any]"], Awaitable[JSONResponse[Any]]]:
    """Return what Litestar calls: it reads the inputs, calls the handler and makes the response."""
    handler, envelope = operation.handler, operation.envelope
    read = {name: source.read for name, source in operation.inputs.items()}
    awaited = [name for name in read if inspect.iscoroutinefunction(read[name])]
    plain = [(name, read[name]) for name in read if name not in awaited]

    takes_query = operation.takes_query

    async def endpoint(request: Request[Any, Any, Any]) -> JSONResponse[Any]:
        if request.scope["query_string"] and not takes_query:
            NO_QUERY.read(request)
        arguments = {name: read_one(request) for name, read_one in plain}
        for name in awaited:
            arguments[name] = await read[name](request)
        response = RESPONSES[envelope](request, await handler(**arguments))
        if operation.status != 200:
            response.status_code = operation.status
        return response

    return endpoint

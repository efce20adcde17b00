"""Client for the Outrider API: `Outrider`, and `AsyncOutrider` for asyncio."""

from . import params, types
from ._async.client import AsyncOutrider
from ._async.page import AsyncPage
from ._async.paginate import AsyncPaginator
from ._async.stream import AsyncStream
from ._async.streamed import AsyncStreamedResponse
from ._errors import (
    APIConnectionError,
    APIError,
    APIStatusError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    InternalServerError,
    NotFoundError,
    OutriderError,
    PermissionDeniedError,
    RateLimitError,
    UnprocessableEntityError,
    WaitTimeoutError,
)
from ._events import MessageAgentDelta
from ._logs import set_up
from ._model import BaseModel
from ._options import ClientOptions, PostOptions, RequestOptions, Timeout
from ._response import RawResponse
from ._sync.client import Outrider
from ._sync.page import Page
from ._sync.stream import Stream
from ._sync.streamed import StreamedResponse
from ._version import __version__

__all__ = [
    "APIConnectionError",
    "APIError",
    "APIStatusError",
    "APITimeoutError",
    "AsyncOutrider",
    "AsyncPage",
    "AsyncPaginator",
    "AsyncStream",
    "AsyncStreamedResponse",
    "AuthenticationError",
    "BadRequestError",
    "BaseModel",
    "ClientOptions",
    "ConflictError",
    "InternalServerError",
    "MessageAgentDelta",
    "NotFoundError",
    "Outrider",
    "OutriderError",
    "Page",
    "PermissionDeniedError",
    "PostOptions",
    "RateLimitError",
    "RawResponse",
    "RequestOptions",
    "Stream",
    "StreamedResponse",
    "Timeout",
    "UnprocessableEntityError",
    "WaitTimeoutError",
    "__version__",
    "params",
    "types",
]

set_up()

"""How every response is written: JSON without NaN or infinity, and errors of one shape."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope

from lastseen.errors import (
    IndexMismatch,
    IndexUnreachable,
    JournalError,
    JournalReadOnly,
    LastseenError,
    MissingExtra,
    StampError,
)

_log = logging.getLogger(__name__)

ERRORS = {
    400: ("bad_request", "Host, Origin or body is not what this server takes"),
    401: ("unauthorized", "no token"),
    403: ("forbidden", "not allowed by the options this server was started with"),
    404: ("not_found", "not remembered"),
    405: ("method_not_allowed", "another method than those of this path"),
    408: ("too_slow", "the body did not come in time"),
    409: ("conflict", "memory is read only, a stamp runs backwards, nothing to undo, or no language model"),
    411: ("length_required", "the body does not say its length"),
    413: ("too_large", "body or query is too large"),
    415: ("unsupported_media_type", "the body is not application/json"),
    422: ("invalid", "a parameter or field is invalid"),
    500: ("internal", "the server failed; its log tells why"),
    503: ("unavailable", "disk full, shared index away, too many bodies at once, or shutting down"),
}
"""The errors by status: the name in the body, and what the OpenAPI page says."""
STATUS_OF: tuple[tuple[type[LastseenError], int], ...] = (
    (StampError, 409),
    (IndexMismatch, 409),
    (JournalReadOnly, 409),
    (JournalError, 503),
    (IndexUnreachable, 503),
    (MissingExtra, 503),
    (LastseenError, 422),
)
"""The first class that fits decides."""
_METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")


class Error(BaseModel):
    """What every error looks like."""

    error: str = Field(examples=["not_found"])
    message: str = Field(description="One line with the field, the value and the remedy.")


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The documented errors of a route."""
    return {status: {"model": Error, "description": ERRORS[status][1]} for status in statuses}


READ_ERRORS = errors(400, 401, 405, 413, 422, 503)
"""What any question may be refused with."""
WRITE_ERRORS = errors(400, 401, 404, 405, 408, 409, 411, 413, 415, 422, 503)
"""What any change may be refused with."""


def json_text(value: object) -> str:
    """A value as JSON; numbers that JSON does not know become null."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def json_response(value: object, *, status: int = 200) -> Response:
    """A JSON response, written here: validating what the serializers made would cost more than making it."""
    # a label may hold half of a surrogate pair, which UTF-8 cannot say
    body = json_text(value).encode("utf-8", "replace")
    return Response(body, status_code=status, media_type="application/json")


def error_response(status: int, message: str) -> Response:
    """An error in the one shape."""
    return json_response(
        {"error": ERRORS[status][0] if status in ERRORS else "error", "message": message}, status=status
    )


def problem_of(errors: Sequence[Any]) -> str:
    """The first of pydantic's complaints in one line: which field, and what about it."""
    first = errors[0]
    parts = [str(part) for part in first["loc"]]
    # FastAPI puts where a field was sent before its name; a field may itself be called query
    if parts[:1] == ["body"] or (len(parts) > 1 and parts[0] in ("query", "path")):
        parts = parts[1:]
    where = ".".join(parts)
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{where or 'body'}: {str(first['msg'])[:1].lower()}{str(first['msg'])[1:]}{more}"


def install_error_handlers(app: FastAPI) -> None:
    """Give every error of an app the one shape."""

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        response = error_response(error.status_code, str(error.detail))
        response.headers.update(error.headers or {})
        if "allow" in response.headers:
            # each route knows only its own methods
            response.headers["allow"] = ", ".join(allowed_methods(app, request.scope))
        return response

    @app.exception_handler(RequestValidationError)
    async def _validation(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            why = first.get("ctx", {}).get("error", "unreadable")
            return error_response(400, f"the body is not JSON: {why} at character {first['loc'][-1]}")
        return error_response(422, problem_of(error.errors()))

    @app.exception_handler(LastseenError)
    async def _own(_: Request, error: LastseenError) -> Response:
        status = next(status for kind, status in STATUS_OF if isinstance(error, kind))
        return error_response(status, str(error))

    @app.exception_handler(Exception)
    async def _unforeseen(request: Request, error: Exception) -> Response:
        _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return error_response(500, "the server failed on this request; its log tells why")


def allowed_methods(app: FastAPI, scope: Scope) -> list[str]:
    """The methods that some route answers at the path of a request."""
    return [
        method
        for method in _METHODS
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in app.router.routes)
    ]


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value

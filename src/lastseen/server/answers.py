"""How every answer is written: JSON without NaN or infinity, and errors of one shape."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from lastseen.errors import (
    IndexMismatch,
    IndexUnreachable,
    InvalidValue,
    JournalError,
    JournalReadOnly,
    LastseenError,
    MissingExtra,
    StampError,
)

_log = logging.getLogger(__name__)

NAMES = {
    400: "bad_request",
    401: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    411: "length_required",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid",
    429: "too_many",
    500: "internal",
    503: "unavailable",
}
STATUS_OF: tuple[tuple[type[LastseenError], int], ...] = (
    (StampError, 409),
    (IndexMismatch, 409),
    (JournalReadOnly, 409),
    (JournalError, 503),
    (IndexUnreachable, 503),
    (MissingExtra, 503),
    (InvalidValue, 422),
    (LastseenError, 422),
)
"""The first class that fits decides."""


def text_of(value: object) -> str:
    """A value as JSON; numbers that JSON does not know become null."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def reply(value: object, *, status: int = 200) -> Response:
    """A JSON answer."""
    # a label may hold half of a surrogate pair, which UTF-8 cannot say
    body = text_of(value).encode("utf-8", "replace")
    return Response(body, status_code=status, media_type="application/json")


def refuse(status: int, message: str) -> Response:
    """An error in the one shape."""
    return reply({"error": NAMES.get(status, "error"), "message": message}, status=status)


def refusal(status: int, message: str) -> HTTPException:
    """The same, to be raised."""
    return HTTPException(status, message)


def status_of(error: LastseenError) -> int:
    """The HTTP status that tells what kind of error it is."""
    return next(status for kind, status in STATUS_OF if isinstance(error, kind))


def problem_of(errors: Sequence[Any]) -> str:
    """The first of pydantic's complaints in one line: which field, and what about it."""
    first = errors[0]
    where = ".".join(str(part) for part in first["loc"] if part not in ("query", "body", "path"))
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{where or 'body'}: {str(first['msg'])[:1].lower()}{str(first['msg'])[1:]}{more}"


def install(app: FastAPI) -> None:
    """Give every error of an app the one shape."""

    @app.exception_handler(HTTPException)
    async def _http(_: Request, error: HTTPException) -> Response:
        answer = refuse(error.status_code, str(error.detail))
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(RequestValidationError)
    async def _validation(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            why = first.get("ctx", {}).get("error", "unreadable")
            return refuse(400, f"the body is not JSON: {why} at character {first['loc'][-1]}")
        return refuse(422, problem_of(error.errors()))

    @app.exception_handler(LastseenError)
    async def _own(_: Request, error: LastseenError) -> Response:
        return refuse(status_of(error), str(error))

    @app.exception_handler(Exception)
    async def _unforeseen(request: Request, error: Exception) -> Response:
        _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return refuse(500, "the server failed on this request; its log tells why")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value

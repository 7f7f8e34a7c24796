"""Gemini through google-genai: with an API key, on Vertex AI, in Vertex express mode, or a Vertex endpoint by id.

Keys and credentials come from the environment, never from settings, and are struck out of every error. Pauses and
repeats on a busy server happen here, below the planner's own retry.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from lastseen.config.search import Planner
from lastseen.errors import BackendError, InvalidValue, needs_extra
from lastseen.vlm.protocol import LASTING_STATUS, Backend, EncodedImage, Usage, backend_error, check_answer

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

Mode = Literal["api_key", "vertex", "express"]

DEFAULT_LOCATION = "us-central1"
BACKOFF = 0.5
"""Seconds before a busy server is asked again; doubled each time."""
KEY_VARIABLES = ("GOOGLE_API_KEY", "GEMINI_API_KEY")
_LOG = logging.getLogger(__name__)
_TRANSIENT = frozenset({408, 429}) | frozenset(range(500, 600))


class GeminiBackend:
    """One model or endpoint at Google."""

    def __init__(
        self,
        model: str,
        *,
        mode: Mode,
        api_key: str | None = None,
        project: str | None = None,
        location: str | None = None,
        credentials: Credentials | None = None,
        base_url: str | None = None,
        timeout: float = 30.0,
        http_retries: int = 2,
        backoff: float = BACKOFF,
        seed: int = 0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        with needs_extra("the gemini backend", extra="gemini"):
            from google import genai
            from google.genai import errors, types
        self.model = model
        self.name = f"gemini:{model}"
        """As in ``gemini:gemini-2.5-flash-lite``; an endpoint's full name holds no secret either."""
        self.mode = mode
        self.last_usage: Usage | None = None
        self._types = types
        self._errors = errors
        self._error = partial(backend_error, self.name, secret=api_key)
        self._retries = http_retries
        self._backoff = backoff
        self._seed = seed
        self._sleep = sleep
        options = types.HttpOptions(base_url=base_url, timeout=round(timeout * 1000))
        place: dict[str, Any] = {"api_key": api_key}
        if mode == "vertex":
            place = {"project": project, "location": location, "credentials": credentials}
        self._client = genai.Client(**place, vertexai=mode != "api_key", http_options=options)

    def complete(
        self, prompt: str, images: Sequence[EncodedImage] = (), schema: Mapping[str, Any] | None = None
    ) -> str:
        """Ask, and again after a pause while the server is busy or failing, a bounded number of times."""
        parts = [self._types.Part.from_text(text=prompt)]
        parts += [self._types.Part.from_bytes(data=image.data, mime_type=image.media_type) for image in images]
        config = self._types.GenerateContentConfig(temperature=0.0, seed=self._seed)
        if schema is not None:
            config.response_mime_type = "application/json"
            config.response_json_schema = dict(schema)
        self.last_usage = None
        for attempt in range(self._retries + 1):
            try:
                return self._ask(parts, config)
            except BackendError as error:
                if not error.transient or attempt == self._retries:
                    raise
            self._sleep(self._backoff * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    def _ask(self, parts: list[Any], config: Any) -> str:
        import httpx2
        import pydantic
        from google.auth.exceptions import GoogleAuthError

        contents = [self._types.Content(role="user", parts=parts)]
        try:
            response = self._client.models.generate_content(model=self.model, contents=contents, config=config)
        except httpx2.TimeoutException as error:
            raise self._error("did not answer in time", "raise planner.request_timeout", transient=True) from error
        except httpx2.TransportError as error:
            raise self._error(
                f"cannot be reached ({error})", "check the network and planner.base_url", transient=True
            ) from error
        except GoogleAuthError as error:
            raise self._error(
                f"has no valid credentials ({error})", "run: gcloud auth application-default login", lasting=True
            ) from error
        except self._errors.APIError as error:
            raise self._error(
                f"refused with status {error.code} ({error.message or error.status})",
                "check the server" if (error.code or 0) >= 500 else "check model, key, project and quota",
                transient=error.code in _TRANSIENT,
                lasting=error.code in LASTING_STATUS,
            ) from error
        except (self._errors.UnknownApiResponseError, pydantic.ValidationError, ValueError, TypeError) as error:
            raise self._error(f"gave an answer that is not Gemini's ({error})", "check the server") from error
        return self._read(response)

    def _read(self, response: Any) -> str:
        counted = response.usage_metadata
        if counted is not None:
            self.last_usage = Usage(counted.prompt_token_count or 0, counted.candidates_token_count or 0)
        feedback = response.prompt_feedback
        if feedback is not None and feedback.block_reason is not None:
            raise self._error(f"declined ({feedback.block_reason})", "change the goal, or take another model")
        return check_answer(self.name, response.text)


def from_settings(argument: str, settings: Planner, seed: int) -> Backend:
    """Open ``gemini`` with the model of the settings, or ``gemini:MODEL``."""
    mode = _mode(settings)
    _say_which_wins(settings, mode)
    return _open(argument or settings.model, mode, settings, seed)


def endpoint_from_settings(argument: str, settings: Planner, seed: int) -> Backend:
    """Open ``endpoint:ID``, a model deployed on Vertex; without an id, the scene analyzer's of the settings."""
    endpoint = argument or settings.scene_endpoint
    if not endpoint:
        raise InvalidValue(
            "planner.scene_endpoint", endpoint, "is empty", remedy="give the endpoint id of the cloud console"
        )
    name = endpoint_name(endpoint, project=_project(settings), location=_location(settings))
    return _open(name, "vertex", settings, seed)


def endpoint_name(endpoint: str, *, project: str, location: str) -> str:
    """The full name that the API wants; one that is full already stays.

    >>> endpoint_name("123", project="home", location="us-central1")
    'projects/home/locations/us-central1/endpoints/123'
    """
    return endpoint if "/" in endpoint else f"projects/{project}/locations/{location}/endpoints/{endpoint}"


def _open(model: str, mode: Mode, settings: Planner, seed: int) -> Backend:
    on_vertex, key = mode == "vertex", _api_key()
    if not on_vertex and not key:
        raise InvalidValue(
            "planner.gemini_mode", mode, f"needs {' or '.join(KEY_VARIABLES)}", remedy="export the key"
        )
    return GeminiBackend(
        model,
        mode=mode,
        api_key=None if on_vertex else key,
        project=_project(settings) if on_vertex else None,
        location=_location(settings) if on_vertex else None,
        base_url=settings.base_url or None,
        timeout=settings.request_timeout,
        http_retries=settings.http_retries,
        seed=seed,
    )


def _mode(settings: Planner) -> Mode:
    if settings.gemini_mode in get_args(Mode):
        return cast("Mode", settings.gemini_mode)
    on_vertex = os.environ.get("GOOGLE_GENAI_USE_VERTEXAI", "").lower() in ("1", "true")
    if settings.cloud_project or (not _api_key() and os.environ.get("GOOGLE_CLOUD_PROJECT")):
        return "vertex"
    if not on_vertex:
        return "api_key"
    return "express" if _api_key() else "vertex"


def _say_which_wins(settings: Planner, mode: Mode) -> None:
    """Warn where both a key and a project could be meant: they are billed to different accounts."""
    project = settings.cloud_project or os.environ.get("GOOGLE_CLOUD_PROJECT", "")
    if not (_api_key() and project) or settings.gemini_mode != "auto":
        return
    name = next(name for name in KEY_VARIABLES if os.environ.get(name))
    used = f"the Vertex project {project}" if mode == "vertex" else f"the key in {name}"
    _LOG.warning(
        "gemini: %s and the project %s are both set; using %s; planner.gemini_mode decides", name, project, used
    )


def _api_key() -> str:
    return next((os.environ[name] for name in KEY_VARIABLES if os.environ.get(name)), "")


def _project(settings: Planner) -> str:
    project = settings.cloud_project or os.environ.get("GOOGLE_CLOUD_PROJECT", "")
    if not project:
        raise InvalidValue(
            "planner.cloud_project", project, "is empty", remedy="set it, or export GOOGLE_CLOUD_PROJECT"
        )
    return project


def _location(settings: Planner) -> str:
    return settings.cloud_location or os.environ.get("GOOGLE_CLOUD_LOCATION", "") or DEFAULT_LOCATION

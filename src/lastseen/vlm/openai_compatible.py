"""Any server that speaks the OpenAI chat API: Ollama, vLLM, llama.cpp, or OpenAI itself.

The key is read from an environment variable whose name is a setting, so that no settings file, log or error ever
holds it. Without a key a placeholder is sent, which local servers ignore.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from lastseen.config.search import Planner
from lastseen.errors import InvalidValue, needs_extra
from lastseen.vlm.protocol import LASTING_STATUS, Backend, EncodedImage, Usage, backend_error, check_answer

PLACEHOLDER_KEY = "not-needed"
TRANSIENT_STATUS = frozenset({408, 409, 425, 429}) | frozenset(range(500, 600))
_NOT_PORTABLE = frozenset({"$schema", "$id", "title", "description", "allOf", "if", "then", "else"})


class OpenAICompatibleBackend:
    """One model on one server."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 30.0,
        http_retries: int = 2,
        seed: int = 0,
    ) -> None:
        with needs_extra("the openai backend", extra="openai"):
            import openai
        self.model, self.name = model, f"openai:{model}"
        self.last_usage: Usage | None = None
        self._openai = openai
        self._seed = seed
        self._error = partial(backend_error, self.name, secret=api_key)
        self._client = openai.OpenAI(
            api_key=api_key or PLACEHOLDER_KEY, base_url=base_url, timeout=timeout, max_retries=http_retries
        )

    def complete(
        self, prompt: str, images: Sequence[EncodedImage] = (), schema: Mapping[str, Any] | None = None
    ) -> str:
        """Ask once; the client itself repeats on a busy or failing server, with pauses, within its own limit."""
        content: list[dict[str, Any]] = [{"type": "text", "text": prompt}]
        content += [{"type": "image_url", "image_url": {"url": _data_uri(image)}} for image in images]
        request: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "user", "content": content}],
            "temperature": 0.0,
            "seed": self._seed,
        }
        if schema is not None:
            request["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": portable_schema(schema), "strict": False},
            }
        self.last_usage = None
        try:
            completion = self._client.chat.completions.create(**request)
        except self._openai.APITimeoutError as error:
            raise self._error("did not answer in time", "raise planner.request_timeout", transient=True) from error
        except self._openai.APIConnectionError as error:
            raise self._error(
                f"cannot be reached ({error.__cause__ or error})", "check planner.base_url", transient=True
            ) from error
        except self._openai.APIStatusError as error:
            raise self._error(
                f"refused with status {error.status_code} ({error.message})",
                f"check the model name and {'the server' if error.status_code >= 500 else 'the key'}",
                transient=error.status_code in TRANSIENT_STATUS,
                lasting=error.status_code in LASTING_STATUS,
            ) from error
        except (self._openai.OpenAIError, ValueError) as error:
            raise self._error(f"gave an answer that is not the chat API's ({error})", "check the server") from error
        counted = getattr(completion, "usage", None)
        if counted is not None:
            tokens = (getattr(counted, name, None) or 0 for name in ("prompt_tokens", "completion_tokens"))
            self.last_usage = Usage(*tokens)
        return self._text(completion)

    def _text(self, completion: object) -> str:
        # the client builds its types without checking, so every step of the way may be something else
        choices = getattr(completion, "choices", None)
        message = getattr(choices[0], "message", None) if isinstance(choices, list) and choices else None
        if message is None:
            raise self._error("gave an answer that is not the chat API's", "check the server")
        refusal = getattr(message, "refusal", None)
        if refusal:
            raise self._error(f"declined ({refusal})", "change the goal, or take another model")
        return check_answer(self.name, getattr(message, "content", None))


def from_settings(argument: str, settings: Planner, seed: int) -> Backend:
    """Open ``openai`` with the model of the settings, or ``openai:MODEL``."""
    api_key = os.environ.get(settings.api_key_variable) if settings.api_key_variable else None
    if not settings.base_url and not api_key:
        raise InvalidValue(
            "planner.base_url",
            settings.base_url,
            f"is empty and {settings.api_key_variable or 'a key variable'} is not set",
            remedy="give the address of a local server, such as http://localhost:11434/v1, or export the key",
        )
    return OpenAICompatibleBackend(
        argument or settings.model,
        base_url=settings.base_url or None,
        api_key=api_key,
        timeout=settings.request_timeout,
        http_retries=settings.http_retries,
        seed=seed,
    )


def portable_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without what constrained decoders do not know; the caller checks against the whole one."""
    portable: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            portable[key] = {name: portable_schema(shape) for name, shape in value.items()}
        elif key not in _NOT_PORTABLE:
            portable[key] = portable_schema(value) if isinstance(value, Mapping) else value
    return portable


def _data_uri(image: EncodedImage) -> str:
    return f"data:{image.media_type};base64,{base64.b64encode(image.data).decode('ascii')}"

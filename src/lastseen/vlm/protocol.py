"""What a vision-language model must offer to be plugged in, the image it is shown, and backends by name.

Images travel encoded: that is what every server takes, what a recording can hash, and what keeps this seam free of
array types. A backend's name may carry an argument after a colon (``mock:garbage``, ``recorded:run.jsonl``); only the
one that the settings name is imported.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, runtime_checkable

from lastseen.config.search import Planner
from lastseen.errors import BackendError, InvalidValue

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MediaType = Literal["image/jpeg", "image/png"]
_SIGNATURES: dict[MediaType, bytes] = {"image/jpeg": b"\xff\xd8\xff", "image/png": b"\x89PNG\r\n\x1a\n"}


@dataclass(frozen=True, slots=True)
class EncodedImage:
    """One JPEG or PNG as bytes."""

    data: bytes
    media_type: MediaType

    def __post_init__(self) -> None:
        signature = _SIGNATURES.get(self.media_type)
        if signature is None:
            raise InvalidValue(
                "image.media_type", self.media_type, "is not supported", remedy="use image/jpeg or image/png"
            )
        if not self.data.startswith(signature):
            raise InvalidValue(
                "image.data", self.data, f"is not {self.media_type}", remedy="use EncodedImage.from_rgb"
            )

    @classmethod
    def from_rgb(cls, rgb: NDArray[np.uint8], *, media_type: MediaType = "image/jpeg") -> EncodedImage:
        """Encode a picture (height, width, 3); equal pixels give equal bytes."""
        from lastseen.images import encoded

        if rgb.ndim != 3 or rgb.shape[2] != 3 or str(rgb.dtype) != "uint8":
            raise InvalidValue("rgb", rgb, "must be a (height, width, 3) uint8 array", remedy="give frame.rgb")
        if media_type not in _SIGNATURES:
            raise InvalidValue(
                "image.media_type", media_type, "is not supported", remedy="use image/jpeg or image/png"
            )
        return cls(encoded(rgb, media_type.removeprefix("image/").upper()), media_type)


@runtime_checkable
class Backend(Protocol):
    """A vision-language model behind one call."""

    @property
    def name(self) -> str:
        """Kind and model, as logs show it; never a key, never an address with a password."""

    def complete(
        self, prompt: str, images: Sequence[EncodedImage] = (), schema: Mapping[str, Any] | None = None
    ) -> str:
        """The model's answer as text; ``schema`` asks for JSON of that shape, which the caller still checks.

        Raises ``BackendError`` when there is no answer: no connection, too slow, refused, or empty.
        """


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call as the server counted them; written to timing.jsonl and nowhere else."""

    prompt_tokens: int
    output_tokens: int


def usage_of(backend: Backend) -> Usage | None:
    """The usage of a backend's last call, its ``last_usage``; None for backends that do not count."""
    usage = getattr(backend, "last_usage", None)
    return usage if isinstance(usage, Usage) else None


LASTING_STATUS = frozenset({401, 403, 404})
"""HTTP statuses that every question will meet: a wrong key, no permission, a model or endpoint that is not there."""


def backend_error(
    backend: str, problem: str, remedy: str, *, secret: str | None, transient: bool = False, lasting: bool = False
) -> BackendError:
    """The error of a backend as one short line; the key, which servers like to repeat, is struck out."""
    text = " ".join(problem.split())
    if secret:
        text = text.replace(secret, "[key]")
    return BackendError(backend, text[:300], remedy=remedy, transient=transient, lasting=lasting)


def check_answer(backend: str, text: object) -> str:
    """Give back an answer that is text with something in it; raise ``BackendError`` for anything else."""
    if not isinstance(text, str) or not text.strip():
        raise BackendError(backend, "gave an empty answer", remedy="check that the model can do what it was asked")
    return text


Factory = Callable[[str, Planner, int], Backend]
"""(argument, settings, seed) -> backend; the argument is what follows the colon, or empty."""

_BACKENDS: dict[str, str] = {
    "endpoint": "lastseen.vlm.gemini:endpoint_from_settings",
    "gemini": "lastseen.vlm.gemini:from_settings",
    "mock": "lastseen.vlm.mock:from_settings",
    "offline": "lastseen.vlm.offline:from_settings",
    "openai": "lastseen.vlm.openai_compatible:from_settings",
    "record": "lastseen.vlm.recorded:recorder_from_settings",
    "recorded": "lastseen.vlm.recorded:from_settings",
}


def register_backend(name: str, factory: str) -> None:
    """Add a backend of your own: ``register_backend("mine", "my_package.my_module:from_settings")``."""
    if not name or ":" in name:
        raise InvalidValue("backend", name, "must be a word without a colon", remedy="choose another name")
    module, _, function = factory.partition(":")
    if not module or not function:
        raise InvalidValue("factory", factory, "must be module:function", remedy="for example my_package.vlm:make")
    if _BACKENDS.get(name, factory) != factory:
        raise InvalidValue("backend", name, "is taken", remedy=f"choose another name than {backend_names()}")
    _BACKENDS[name] = factory


def backend_names() -> list[str]:
    """Every backend that can be opened, sorted."""
    return sorted(_BACKENDS)


def open_backend(name: str, settings: Planner | None = None, *, seed: int = 0) -> Backend:
    """Open a backend by its name; equal names, settings and seeds give equal behaviour where the model does.

    >>> open_backend("mock").name
    'mock:valid'
    """
    kind, _, argument = name.partition(":")
    if kind not in _BACKENDS:
        raise InvalidValue("backend", name, "is not known", remedy=f"choose one of {', '.join(backend_names())}")
    module, _, function = _BACKENDS[kind].partition(":")
    factory = cast("Factory", getattr(importlib.import_module(module), function))
    return factory(argument, settings or Planner(), seed)

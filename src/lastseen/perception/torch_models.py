"""Loading transformers' models from a folder: no network, no pickles, no weights left to chance.

A hub folder is data from outside. Only safetensors are read, no code in the folder runs, and a checkpoint that lacks
a tensor is refused instead of being filled with random numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lastseen.errors import InvalidValue, MissingExtra
from lastseen.models.folder import first_line, read_json

WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
_UNREADABLE = (RuntimeError, OSError, ValueError, LookupError, TypeError, AttributeError, ImportError)
"""What transformers' and safetensors' readers raise on folders that are damaged or of another kind."""


def transformers_for(feature: str) -> Any:
    """The transformers package, with torch; both are the extra ``torch``."""
    try:
        import torch  # noqa: F401 - transformers imports without it and fails later
        import transformers
    except ImportError:
        raise MissingExtra(feature, extra="torch") from None
    return transformers


def check_folder(folder: Path, model_type: str) -> dict[str, Any]:
    """The config of a model folder, which must be of this type and hold safetensors."""
    if not (folder / "config.json").is_file():
        raise InvalidValue("model", str(folder), "has no config.json", remedy="give the folder of the model")
    config = read_json(folder / "config.json")
    if config.get("model_type") != model_type:
        found = config.get("model_type")
        raise InvalidValue("model", str(folder), f"is of type {found!r}", remedy=f"a {model_type} model is needed")
    if not any((folder / name).is_file() for name in WEIGHTS):
        raise InvalidValue(
            "model", str(folder), "has no model.safetensors", remedy="get it in that format: others may hold code"
        )
    return config


def load_part(kind: Any, folder: Path, **options: Any) -> Any:
    """A processor or tokenizer from the folder."""
    with _readable(folder):
        return kind.from_pretrained(str(folder), local_files_only=True, **options)


def device_of(name: str, setting: str) -> Any:
    """The torch device of a name; ``auto`` is cuda where there is one. ``setting`` is what a refusal names."""
    import torch

    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()
    # without a driver torch raises what its build happens to raise
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise InvalidValue(
            setting, name, f"cannot be used here ({first_line(error)})", remedy="use auto or cpu"
        ) from error
    return device


def load_model(kind: Any, folder: Path) -> Any:
    """A model from the folder, ready for inference; every tensor must come from the file."""
    with _quiet(), _readable(folder):
        model, report = kind.from_pretrained(
            str(folder), local_files_only=True, use_safetensors=True, output_loading_info=True
        )
    lacking = sorted(report["missing_keys"]) + sorted(str(key) for key in report["mismatched_keys"])
    if lacking:
        more = f" and {len(lacking) - 2} more" if len(lacking) > 2 else ""
        raise InvalidValue(
            "model", str(folder), f"lacks {', '.join(lacking[:2])}{more}", remedy="get the whole checkpoint"
        )
    return model.eval().requires_grad_(False)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without transformers' progress bars and load reports: what is wrong is raised."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    from safetensors import SafetensorError

    try:
        yield
    except (SafetensorError, *_UNREADABLE) as error:
        problem = f"cannot be loaded ({first_line(error)})"
        raise InvalidValue("model", str(folder), problem, remedy="get the folder again") from error

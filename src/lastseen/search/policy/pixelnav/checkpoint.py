"""Weights from a file into the network, and nothing but weights: a checkpoint is data from outside.

Loading is strict in both senses: no code in the file runs, and every tensor must be there with its shape.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lastseen.errors import InvalidValue

if TYPE_CHECKING:
    from torch import Tensor

    from lastseen.search.policy.pixelnav.network import PixelNavNetwork

_REMEDY = "give a state dict of PixelNav's policy network, as torch.save writes it"
_UNREADABLE = (
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
)
"""What torch's readers raise on damaged files; which one depends on where the damage lies."""
_NAMED = 3
_WRAPPERS = ("model", "state_dict", "model_state_dict")
_PREFIX = "module."


def load_network(path: str | Path, *, device: str = "cpu") -> PixelNavNetwork:
    """Build the network from a checkpoint, ready for inference on ``device``; ``auto`` is cuda where there is one."""
    from lastseen.perception.torch_models import device_of
    from lastseen.search.policy.pixelnav.network import PixelNavNetwork

    network = PixelNavNetwork.unfilled()
    state = _read(Path(path))
    _check_layout(path, state, network.state_dict())
    # half precision is for storage: the answers are computed in the network's own types
    wanted = {name: tensor.dtype for name, tensor in network.state_dict().items()}
    state = {name: tensor.to(wanted[name]) for name, tensor in state.items()}
    for name, tensor in state.items():
        if not bool(tensor.isfinite().all()):
            raise InvalidValue("checkpoint", str(path), f"{name} is not finite", remedy="get the file again")
    network.load_state_dict(state, strict=True, assign=True)
    return network.to(device_of(device, "pixel_nav.device")).eval().requires_grad_(False)


def _read(path: Path) -> dict[str, Tensor]:
    import torch

    if not path.is_file():
        raise InvalidValue("checkpoint", str(path), "is not a file", remedy=_REMEDY)
    try:
        state: object = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise InvalidValue("checkpoint", str(path), "holds objects other than weights", remedy=_REMEDY) from error
    except _UNREADABLE as error:
        raise InvalidValue("checkpoint", str(path), "is not a readable checkpoint", remedy=_REMEDY) from error
    if not isinstance(state, Mapping):
        raise InvalidValue("checkpoint", str(path), f"holds something of type {type(state).__name__}", remedy=_REMEDY)
    state = _unwrapped(state)
    wrong = next((name for name, value in state.items() if not isinstance(value, torch.Tensor)), None)
    if wrong is not None:
        problem = f"its entry {wrong!r} is of type {type(state[wrong]).__name__}, not a tensor"
        raise InvalidValue("checkpoint", str(path), problem, remedy=_REMEDY)
    return dict(state)  # type: ignore[arg-type]


def _unwrapped(state: Mapping[str, object]) -> Mapping[str, object]:
    """The weights inside what training scripts put around them: a dict of a known name, a prefix ``module.``."""
    for name in _WRAPPERS:
        inner = state.get(name)
        if isinstance(inner, Mapping):
            state = inner
            break
    if state and all(isinstance(name, str) and name.startswith(_PREFIX) for name in state):
        return {name.removeprefix(_PREFIX): value for name, value in state.items()}
    return state


def _check_layout(path: str | Path, state: Mapping[str, Tensor], layout: Mapping[str, Tensor]) -> None:
    """Say in one line what strict loading would say in hundreds."""
    problems = [
        _listed("lacks", [name for name in layout if name not in state]),
        _listed("has besides", [str(name) for name in state if name not in layout]),
        _listed(
            "has in another shape",
            [
                f"{name} {tuple(state[name].shape)} instead of {tuple(tensor.shape)}"
                for name, tensor in layout.items()
                if name in state and state[name].shape != tensor.shape
            ],
        ),
    ]
    said = [problem for problem in problems if problem]
    if said:
        raise InvalidValue("checkpoint", str(path), ", ".join(said), remedy=_REMEDY)


def _listed(verb: str, names: list[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{verb} {', '.join(names[:_NAMED])}{more}"

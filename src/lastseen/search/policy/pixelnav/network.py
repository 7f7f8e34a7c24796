"""PixelNav's network, one walk to one goal with it, and its weights from a file.

A walk gives a prediction a view, with the history it was trained with. A checkpoint is data from outside: loading is
strict in both senses, no code in the file runs, and every tensor must be there with its shape.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue, needs_extra
from lastseen.perception.torch_models import device_of

with needs_extra("the PixelNav policy", extra="torch"):
    import torch
    from torch import Tensor, nn

SLOTS = 64
"""Views the decoder has positions for."""
VIEW_WIDTH = 512
GOAL_WIDTH = 256
TOKEN_WIDTH = VIEW_WIDTH + GOAL_WIDTH
ACTIONS = 6


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions around a shortcut, which is projected where size or width change."""

    def __init__(self, wide_in: int, wide_out: int, *, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(wide_in, wide_out, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(wide_out)
        self.conv2 = nn.Conv2d(wide_out, wide_out, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(wide_out)
        self.downsample: nn.Sequential | None = None
        if stride != 1 or wide_in != wide_out:
            self.downsample = nn.Sequential(
                nn.Conv2d(wide_in, wide_out, 1, stride=stride, bias=False), nn.BatchNorm2d(wide_out)
            )

    def forward(self, x: Tensor) -> Tensor:
        """Images (n, wide_in, h, w) to (n, wide_out, h / stride, w / stride)."""
        shortcut = x if self.downsample is None else self.downsample(x)
        inner = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(inner)) + shortcut)


def resnet18_trunk(channels: int) -> nn.Sequential:
    """ResNet-18 without its classifier, as one sequence: images (n, channels, h, w) to features (n, 512)."""
    stages: list[nn.Module] = []
    wide_in = 64
    for wide_out, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        first = ResidualBlock(wide_in, wide_out, stride=stride)
        stages.append(nn.Sequential(first, ResidualBlock(wide_out, wide_out, stride=1)))
        wide_in = wide_out
    return nn.Sequential(
        nn.Conv2d(channels, 64, 7, stride=2, padding=3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2, padding=1),
        *stages,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    )


class PixelNavNetwork(nn.Module):
    """From a goal image with its mask and the views since to an action, a distance and the goal's place per view.

    The three parts are separate methods, so that a runtime encodes the goal once and each view once.
    Images are (n, h, w, channels) with values from 0 to 255, BGR.
    """

    def __init__(self) -> None:
        super().__init__()
        self.history_backbone = resnet18_trunk(3)
        self.goal_backbone = resnet18_trunk(4)
        self.goal_concat_proj = nn.Linear(VIEW_WIDTH, GOAL_WIDTH)
        self.goal_input_proj = nn.Linear(VIEW_WIDTH, TOKEN_WIDTH)
        self.po_embedding = nn.Embedding(SLOTS, TOKEN_WIDTH)
        layer = nn.TransformerDecoderLayer(TOKEN_WIDTH, nhead=4, dropout=0.25, batch_first=True)
        self.dt_policy = nn.TransformerDecoder(layer, num_layers=4)
        self.action_head = nn.Linear(TOKEN_WIDTH, ACTIONS)
        self.distance_head = nn.Linear(TOKEN_WIDTH, 1)
        self.goal_head = nn.Linear(TOKEN_WIDTH, 2)

    @classmethod
    def unfilled(cls) -> PixelNavNetwork:
        """The layout without memory or values behind it, for a checkpoint to bring them."""
        with torch.device("meta"):
            return cls()

    def encode_goal(self, goal: Tensor) -> Tensor:
        """Goal images with their mask as fourth channel (n, h, w, 4) to features (n, 512)."""
        return self.goal_backbone(_channels_first(goal))

    def encode_views(self, views: Tensor) -> Tensor:
        """Views (n, h, w, 3) to features (n, 512), each independent of the others."""
        return self.history_backbone(_channels_first(views))

    def decode(self, goal: Tensor, views: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Goal features (n, 512) and view features (n, slots, 512) to action logits, distances and goal places.

        The mask is causal: what stands in later slots, zeros or nothing at all, does not change earlier answers.
        """
        slots = views.shape[1]
        beside = self.goal_concat_proj(goal)[:, None].expand(-1, slots, -1)
        positions = self.po_embedding(torch.arange(slots, device=views.device))
        tokens = torch.cat([views, beside], dim=-1) + positions
        later = torch.ones(slots, slots, dtype=torch.bool, device=views.device).triu(diagonal=1)
        memory = self.goal_input_proj(goal)[:, None]
        seen = self.dt_policy(tokens, memory, tgt_mask=later)
        return self.action_head(seen), self.distance_head(seen), self.goal_head(seen)

    def forward(self, goal: Tensor, views: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The whole computation: goal (n, h, w, 4), views (n, up to 64, h, w, 3), answers for all 64 slots."""
        count, used = views.shape[:2]
        features = views.new_zeros((count, SLOTS, VIEW_WIDTH), dtype=torch.float32)
        features[:, :used] = self.encode_views(views.flatten(0, 1)).reshape(count, used, VIEW_WIDTH)
        return self.decode(self.encode_goal(goal), features)


def _channels_first(images: Tensor) -> Tensor:
    return images.permute(0, 3, 1, 2).to(torch.float32) / 255.0


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the network says about the newest view."""

    logits: tuple[float, ...]
    """Of stop, forward, left, right, look up, look down."""
    distance: float
    goal: tuple[float, float]
    """Where in the newest view it sees the goal: row and column, as shares of the view's height and width."""


class GoalWalk:
    """The memory of a walk: the goal's features and those of the views since."""

    def __init__(self, network: PixelNavNetwork, goal: NDArray[np.uint8]) -> None:
        network.eval()
        self._network = network
        with torch.inference_mode():
            self._goal = network.encode_goal(self._batch(goal))
            self._views = self._goal.new_zeros((1, SLOTS, VIEW_WIDTH))
        self.used = 0

    def add(self, view: NDArray[np.uint8]) -> Prediction:
        """Encode one view into the next slot and predict from all so far."""
        if self.used >= SLOTS:
            raise InvalidValue(
                "views", self.used + 1, f"are more than the network's {SLOTS} slots", remedy="begin a new walk"
            )
        with torch.inference_mode():
            self._views[:, self.used] = self._network.encode_views(self._batch(view))
            self.used += 1
            actions, distances, goals = self._network.decode(self._goal, self._views[:, : self.used])
            newest = torch.cat([actions[0, -1], distances[0, -1], goals[0, -1]]).tolist()
        if not np.isfinite(newest).all():
            raise InvalidValue("prediction", newest, "is not finite", remedy="get the checkpoint again")
        *logits, distance, row, column = newest
        return Prediction(tuple(logits), distance, (row, column))

    def _batch(self, image: NDArray[np.uint8]) -> torch.Tensor:
        device = self._network.action_head.weight.device
        return torch.from_numpy(np.ascontiguousarray(image)[None]).to(device)


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

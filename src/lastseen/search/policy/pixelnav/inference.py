"""One walk to one goal, step by step: each new view is encoded once and remembered.

The answers are those of the whole computation over all 64 slots; only the work is less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue, MissingExtra
from lastseen.search.policy.pixelnav.network import SLOTS, VIEW_WIDTH, PixelNavNetwork

try:
    import torch
except ImportError as error:
    raise MissingExtra("the PixelNav policy", extra="torch") from error


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the network says about the newest view."""

    logits: tuple[float, ...]
    """Of stop, forward, left, right, look up, look down."""
    distance: float
    goal: tuple[float, float]


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
        *logits, distance, across, down = newest
        return Prediction(tuple(logits), distance, (across, down))

    def _batch(self, image: NDArray[np.uint8]) -> torch.Tensor:
        device = self._network.action_head.weight.device
        return torch.from_numpy(np.ascontiguousarray(image)[None]).to(device)

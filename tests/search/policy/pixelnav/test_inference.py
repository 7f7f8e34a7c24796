from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from lastseen.errors import InvalidValue
from tests.search.policy.pixelnav.views import NO_TORCH

pytest.importorskip("torch", reason=NO_TORCH)

import torch

from lastseen.search.policy.pixelnav.inference import GoalWalk, Prediction
from lastseen.search.policy.pixelnav.network import SLOTS, PixelNavNetwork

SIDE = 64


def flat(prediction: Prediction) -> list[float]:
    return [*prediction.logits, prediction.distance, *prediction.goal]


def whole(network: PixelNavNetwork, goal: NDArray[np.uint8], views: NDArray[np.uint8]) -> NDArray[np.float32]:
    """What the network says about each view when everything is computed at once over all slots."""
    with torch.inference_mode():
        answers = network(torch.from_numpy(goal)[None], torch.from_numpy(views)[None])
    joined: NDArray[np.float32] = torch.cat(answers, dim=-1)[0, : len(views)].numpy()
    return joined


@pytest.fixture(scope="module")
def goal() -> NDArray[np.uint8]:
    return np.random.default_rng(1).integers(0, 256, (SIDE, SIDE, 4), dtype=np.uint8)


@pytest.fixture(scope="module")
def views() -> NDArray[np.uint8]:
    """Forty views that differ in brightness as well as in detail."""
    noise = np.random.default_rng(2).integers(0, 256, (40, SIDE, SIDE, 3))
    return (noise * np.linspace(0.1, 1.0, 40)[:, None, None, None]).astype(np.uint8)


def test_step_by_step_answers_equal_the_whole_computation(
    network: PixelNavNetwork, goal: NDArray[np.uint8], views: NDArray[np.uint8]
) -> None:
    walk = GoalWalk(network, goal)
    stepwise = np.array([flat(walk.add(view)) for view in views])
    assert np.ptp(stepwise, axis=0).min() > 1e-2, "views that look alike to the network would prove nothing"
    np.testing.assert_allclose(stepwise, whole(network, goal, views), rtol=0, atol=1e-5)
    for count in (1, 2, 17, 33):
        np.testing.assert_allclose(stepwise[count - 1], whole(network, goal, views[:count])[-1], rtol=0, atol=1e-5)


def test_each_view_is_encoded_once(
    network: PixelNavNetwork, goal: NDArray[np.uint8], views: NDArray[np.uint8], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[int] = []
    encode = network.encode_views

    def counting(batch: torch.Tensor) -> torch.Tensor:
        encoded.append(len(batch))
        return encode(batch)

    monkeypatch.setattr(network, "encode_views", counting)
    walk = GoalWalk(network, goal)
    for view in views[:5]:
        walk.add(view)
    assert encoded == [1] * 5


def test_dropout_is_off_even_for_a_network_left_in_training(
    network: PixelNavNetwork, goal: NDArray[np.uint8], views: NDArray[np.uint8]
) -> None:
    quiet = flat(GoalWalk(network, goal).add(views[0]))
    network.train()
    assert flat(GoalWalk(network, goal).add(views[0])) == quiet
    assert not network.training


def test_more_views_than_slots_are_refused(network: PixelNavNetwork, goal: NDArray[np.uint8]) -> None:
    walk = GoalWalk(network, goal)
    walk.used = SLOTS
    with pytest.raises(InvalidValue, match="more than the network's 64 slots"):
        walk.add(goal[..., :3])


def test_an_answer_that_is_not_a_number_is_an_error(network: PixelNavNetwork, goal: NDArray[np.uint8]) -> None:
    own, network.distance_head = network.distance_head, torch.nn.Linear(768, 1)
    torch.nn.init.constant_(network.distance_head.bias, float("nan"))
    try:
        with pytest.raises(InvalidValue, match=r"prediction = .*is not finite"):
            GoalWalk(network, goal).add(goal[..., :3])
    finally:
        network.distance_head = own

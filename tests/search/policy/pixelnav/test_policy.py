from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.search.policy.goal_pixel import GoalPixel
from lastseen.search.policy.pixelnav.policy import goal_image, network_image
from lastseen.search.policy.protocol import open_policy
from tests.search.policy.pixelnav.views import NO_TORCH, view

pytest.importorskip("torch", reason=NO_TORCH)

import torch

from lastseen.search.policy.pixelnav.network import PixelNavNetwork
from lastseen.search.policy.pixelnav.policy import ACTION_ORDER, PixelNavPolicy

SMALL = 32
PIXEL = GoalPixel(40, 30, "floor", (1.0, 0.0, 0.0))
Wanting = Callable[[Sequence[float]], PixelNavPolicy]


@pytest.fixture
def wanting(network: PixelNavNetwork) -> Iterator[Wanting]:
    """A policy in mid walk whose network always gives these six logits."""

    def make(logits: Sequence[float]) -> PixelNavPolicy:
        head = torch.nn.Linear(768, 6).requires_grad_(False)
        head.weight.zero_()
        head.bias.copy_(torch.tensor(logits))
        network.action_head = head
        policy = PixelNavPolicy(network, image_size=SMALL)
        policy.see(view())
        policy.follow(PIXEL)
        return policy

    own = network.action_head
    yield make
    network.action_head = own


def only(action: Action) -> list[float]:
    return [5.0 if other is action else 0.0 for other in ACTION_ORDER]


def test_the_logits_stand_for_stop_forward_left_right_up_down(wanting: Wanting) -> None:
    order = ["stop", "forward", "turn_left", "turn_right", "look_up", "look_down"]
    assert [wanting([5.0 * (i == j) for j in range(6)]).act() for i in range(6)] == order


def test_stop_is_forced_at_the_33rd_prediction(wanting: Wanting) -> None:
    policy = wanting(only(Action.TURN_LEFT))
    actions = [policy.act() for _ in range(33)]
    assert actions == [Action.TURN_LEFT] * 32 + [Action.STOP]
    assert policy.stop_reason == "exhausted"
    assert policy.act() is Action.STOP


def test_a_new_goal_starts_the_count_again(wanting: Wanting) -> None:
    policy = wanting(only(Action.FORWARD))
    while policy.act() is not Action.STOP:
        pass
    policy.follow(PIXEL)
    assert policy.stop_reason is None
    assert policy.act() is Action.FORWARD


def test_a_stop_of_the_network_means_reached(wanting: Wanting) -> None:
    policy = wanting(only(Action.STOP))
    assert policy.act() is Action.STOP
    assert policy.stop_reason == "reached"


def test_after_a_collision_the_forward_logit_is_minus_one(wanting: Wanting) -> None:
    policy = wanting([-3.0, 5.0, -2.0, 0.5, -2.0, -2.0])
    assert policy.act() is Action.FORWARD
    policy.moved(Action.FORWARD, collided=True)
    assert policy.act() is Action.TURN_RIGHT
    policy.moved(Action.TURN_RIGHT, collided=False)
    assert policy.act() is Action.FORWARD


def test_forward_stays_possible_after_a_collision_when_all_else_is_worse(wanting: Wanting) -> None:
    policy = wanting([-3.0, 5.0, -2.0, -2.0, -2.0, -2.0])
    policy.moved(Action.FORWARD, collided=True)
    assert policy.act() is Action.FORWARD


def test_a_walk_equals_the_whole_computation_on_prepared_images(network: PixelNavNetwork) -> None:
    frames = [view(seed) for seed in range(6)]
    policy = PixelNavPolicy(network)
    policy.see(frames[0])
    policy.follow(PIXEL)
    said = []
    for frame in frames:
        policy.see(frame)
        policy.act()
        assert policy.prediction is not None
        said.append(policy.prediction.logits)
    goal = goal_image(frames[0], PIXEL, size=224)
    views = np.stack([network_image(frame.rgb, size=224) for frame in frames])
    with torch.inference_mode():
        expected = network(torch.from_numpy(goal)[None], torch.from_numpy(views)[None])[0][0, :6]
    np.testing.assert_allclose(said, expected.numpy(), rtol=0, atol=1e-5)


def test_only_frames_acted_on_enter_the_history(network: PixelNavNetwork) -> None:
    def last_logits(extra: Sequence[int]) -> tuple[float, ...]:
        policy = PixelNavPolicy(network, image_size=SMALL)
        policy.see(view(0))
        policy.follow(PIXEL)
        for seed in (1, 2):
            for other in (*extra, seed, seed):
                policy.see(view(other))
            policy.act()
        assert policy.prediction is not None
        return policy.prediction.logits

    assert last_logits([]) == last_logits([7, 8])


def test_a_reset_policy_walks_as_a_new_one_does(network: PixelNavNetwork) -> None:
    used, fresh = PixelNavPolicy(network, image_size=SMALL), PixelNavPolicy(network, image_size=SMALL)
    used.see(view(5))
    used.follow(GoalPixel(3, 4, "target", (1.0, 0.0, 0.0)))
    used.act()
    used.moved(Action.FORWARD, collided=True)
    used.reset()
    answers = []
    for policy in (used, fresh):
        policy.see(view(0))
        policy.follow(PIXEL)
        answers.append([(policy.act(), policy.prediction) for _ in range(3)])
    assert answers[0] == answers[1]


def test_a_goal_pixel_without_a_view_is_refused(network: PixelNavNetwork) -> None:
    with pytest.raises(InvalidValue, match="belongs to no view; call see"):
        PixelNavPolicy(network).follow(PIXEL)


def test_it_opens_a_checkpoint(network: PixelNavNetwork, tmp_path: Path) -> None:
    torch.save(network.state_dict(), tmp_path / "pixelnav.ckpt")
    loaded = PixelNavPolicy.from_checkpoint(tmp_path / "pixelnav.ckpt", image_size=SMALL)
    for policy in (loaded, own := PixelNavPolicy(network, image_size=SMALL)):
        policy.see(view(3))
        policy.follow(PIXEL)
        policy.act()
    assert loaded.prediction == own.prediction


def test_a_robot_whose_camera_does_not_tilt_is_never_told_to(wanting: Wanting) -> None:
    policy = wanting([0.0, 1.0, 0.5, 0.4, 9.0, 8.0])
    policy.allow((Action.FORWARD, Action.TURN_LEFT, Action.TURN_RIGHT))
    assert policy.act() is Action.FORWARD


def test_a_policy_is_opened_by_name(network: PixelNavNetwork, tmp_path: Path) -> None:
    path = tmp_path / "pixelnav.ckpt"
    torch.save({"model": network.state_dict()}, path)
    assert isinstance(open_policy(f"pixelnav:{path}", Settings()), PixelNavPolicy)
    with pytest.raises(InvalidValue, match="is not a file"):
        open_policy("pixelnav:none.ckpt", Settings())
    with pytest.raises(
        InvalidValue, match=r"^policy = 'pixelnav': is not known; use geometric, or pixelnav:CHECKPOINT$"
    ):
        open_policy("pixelnav", Settings())

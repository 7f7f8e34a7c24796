"""PixelNav's network and a walk with it, on generated weights."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from lastseen.errors import InvalidValue
from tests.search.policy.pixelnav.views import NO_TORCH

pytest.importorskip("torch", reason=NO_TORCH)

import torch

from lastseen.search.policy.pixelnav.network import SLOTS, GoalWalk, PixelNavNetwork, Prediction

Shapes = dict[str, tuple[int, ...]]


def linear(name: str, wide_in: int, wide_out: int) -> Shapes:
    return {f"{name}.weight": (wide_out, wide_in), f"{name}.bias": (wide_out,)}


def norm(name: str, width: int) -> Shapes:
    each = ("weight", "bias", "running_mean", "running_var")
    return {**{f"{name}.{part}": (width,) for part in each}, f"{name}.num_batches_tracked": ()}


def trunk(name: str, channels: int) -> Shapes:
    """The children of a ResNet-18 by their place: 0 conv1, 1 bn1, 2 relu, 3 maxpool, 4 to 7 the layers."""
    shapes: Shapes = {f"{name}.0.weight": (64, channels, 7, 7), **norm(f"{name}.1", 64)}
    for layer, (wide_in, wide_out) in enumerate([(64, 64), (64, 128), (128, 256), (256, 512)], start=4):
        for block in (0, 1):
            here, first = f"{name}.{layer}.{block}", wide_in if block == 0 else wide_out
            shapes |= {f"{here}.conv1.weight": (wide_out, first, 3, 3), **norm(f"{here}.bn1", wide_out)}
            shapes |= {f"{here}.conv2.weight": (wide_out, wide_out, 3, 3), **norm(f"{here}.bn2", wide_out)}
        if wide_in != wide_out:
            side = f"{name}.{layer}.0.downsample"
            shapes |= {f"{side}.0.weight": (wide_out, wide_in, 1, 1), **norm(f"{side}.1", wide_out)}
    return shapes


def attention(name: str) -> Shapes:
    return {
        f"{name}.in_proj_weight": (2304, 768),
        f"{name}.in_proj_bias": (2304,),
        **linear(f"{name}.out_proj", 768, 768),
    }


def decoder_layer(name: str) -> Shapes:
    norms = {f"{name}.norm{i}.{part}": (768,) for i in (1, 2, 3) for part in ("weight", "bias")}
    feed = {**linear(f"{name}.linear1", 768, 2048), **linear(f"{name}.linear2", 2048, 768)}
    return {**attention(f"{name}.self_attn"), **attention(f"{name}.multihead_attn"), **feed, **norms}


LAYOUT: Shapes = {
    **trunk("history_backbone", 3),
    **trunk("goal_backbone", 4),
    **linear("goal_concat_proj", 512, 256),
    **linear("goal_input_proj", 512, 768),
    "po_embedding.weight": (64, 768),
    **{key: shape for i in range(4) for key, shape in decoder_layer(f"dt_policy.layers.{i}").items()},
    **linear("action_head", 768, 6),
    **linear("distance_head", 768, 1),
    **linear("goal_head", 768, 2),
}


def images(seed: int, *shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8))


def test_every_tensor_has_its_published_name_and_shape() -> None:
    state = PixelNavNetwork.unfilled().state_dict()
    assert {name: tuple(tensor.shape) for name, tensor in state.items()} == LAYOUT
    assert len(LAYOUT) == 323


def test_the_decoder_has_four_heads_and_its_dropout() -> None:
    for layer in PixelNavNetwork.unfilled().dt_policy.layers:
        assert isinstance(layer, torch.nn.TransformerDecoderLayer)
        assert layer.self_attn.num_heads == layer.multihead_attn.num_heads == 4
        assert layer.self_attn.batch_first
        assert layer.dropout.p == layer.dropout1.p == layer.self_attn.dropout == 0.25


def test_the_whole_computation_answers_for_all_slots(network: PixelNavNetwork) -> None:
    with torch.inference_mode():
        actions, distances, goals = network(images(0, 2, 224, 224, 4), images(1, 2, 3, 224, 224, 3))
    assert actions.shape == (2, 64, 6)
    assert distances.shape == (2, 64, 1)
    assert goals.shape == (2, 64, 2)


def test_a_trunk_halves_five_times_and_averages() -> None:
    trunk = PixelNavNetwork.unfilled().history_backbone
    before = torch.empty(1, 3, 224, 224, device="meta")
    assert trunk[:8](before).shape == (1, 512, 7, 7)
    assert trunk(before).shape == (1, 512)


def test_later_slots_do_not_change_earlier_answers(network: PixelNavNetwork) -> None:
    features = torch.from_numpy(np.random.default_rng(0).normal(size=(1, 64, 512))).float()
    goal, zeroed = features[:, 0], features.clone()
    zeroed[:, 10:] = 0.0
    with torch.inference_mode():
        full, cut, short = (network.decode(goal, views)[0] for views in (features, zeroed, features[:, :10]))
    torch.testing.assert_close(full[:, :10], cut[:, :10], rtol=0, atol=1e-5)
    torch.testing.assert_close(full[:, :10], short, rtol=0, atol=1e-5)
    assert not torch.allclose(full[:, 10:], cut[:, 10:], atol=1e-2)


def test_goal_position_and_each_earlier_view_matter(network: PixelNavNetwork) -> None:
    features = torch.from_numpy(np.random.default_rng(0).normal(size=(1, 5, 512))).float()
    goal = features[:, 4].clone()
    other = features.clone()
    other[:, 0] += 1.0
    with torch.inference_mode():
        base = network.decode(goal, features)[0][0, -1]
        assert not torch.allclose(base, network.decode(goal + 1.0, features)[0][0, -1], atol=1e-3)
        assert not torch.allclose(base, network.decode(goal, other)[0][0, -1], atol=1e-3)
        repeated = network.decode(goal, features[:, :1].expand(-1, 5, -1))[0][0]
        assert not torch.allclose(repeated[0], repeated[4], atol=1e-3)


def test_division_by_255_happens_inside(network: PixelNavNetwork) -> None:
    view = images(3, 1, 64, 64, 3)
    with torch.inference_mode():
        features = network.encode_views(view)
        expected = network.history_backbone(view.permute(0, 3, 1, 2).float() / 255.0)
    torch.testing.assert_close(features, expected)


def test_the_mask_is_seen(network: PixelNavNetwork) -> None:
    goal = images(4, 1, 64, 64, 4)
    marked = goal.clone()
    goal[..., 3], marked[..., 3] = 0, 0
    marked[:, 20:40, 20:40, 3] = 255
    with torch.inference_mode():
        assert not torch.allclose(network.encode_goal(goal), network.encode_goal(marked), atol=1e-2)


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

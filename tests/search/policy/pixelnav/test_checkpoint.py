from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lastseen.errors import InvalidValue
from tests.search.policy.pixelnav.views import NO_TORCH

pytest.importorskip("torch", reason=NO_TORCH)

import torch

from lastseen.search.policy.pixelnav.network import PixelNavNetwork, load_network

State = dict[str, Any]


class Trap:
    """A pickle that makes a folder when it is opened."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.folder),)


def lacking_one(state: State) -> State:
    return {name: tensor for name, tensor in state.items() if name != "goal_head.bias"}


def with_one_more(state: State) -> State:
    return {**state, "goal_head.scale": torch.zeros(1)}


def in_another_shape(state: State) -> State:
    return {**state, "po_embedding.weight": torch.zeros(32, 768)}


def with_a_prefix(state: State) -> State:
    return {f"module.{name}": tensor for name, tensor in state.items()}


def wrapped(state: State) -> State:
    return {"state_dict": state, "epoch": 3}


def with_nan(state: State) -> State:
    return {**state, "distance_head.bias": torch.tensor([float("nan")])}


def test_a_saved_network_loads_and_answers_the_same(network: PixelNavNetwork, tmp_path: Path) -> None:
    path = tmp_path / "pixelnav.ckpt"
    torch.save(network.state_dict(), path)
    again = load_network(path)
    assert not again.training
    goal, views = torch.full((1, 64, 64, 4), 90), torch.full((1, 2, 64, 64, 3), 200)
    with torch.inference_mode():
        for mine, other in zip(network(goal, views), again(goal, views), strict=True):
            assert torch.equal(mine, other)


def test_half_precision_is_for_storage_only(network: PixelNavNetwork, tmp_path: Path) -> None:
    path = tmp_path / "half.ckpt"
    torch.save({name: t.half() if t.is_floating_point() else t for name, t in network.state_dict().items()}, path)
    assert {parameter.dtype for parameter in load_network(path).parameters()} == {torch.float32}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lacking_one, "lacks goal_head.bias; give"),
        (with_one_more, "has besides goal_head.scale; give"),
        (in_another_shape, r"has in another shape po_embedding.weight \(32, 768\) instead of \(64, 768\)"),
        (with_nan, "distance_head.bias is not finite"),
    ],
)
def test_another_layout_is_refused_in_one_line(
    network: PixelNavNetwork, tmp_path: Path, change: Callable[[State], State], said: str
) -> None:
    path = tmp_path / "other.ckpt"
    torch.save(change(network.state_dict()), path)
    with pytest.raises(InvalidValue, match=said) as caught:
        load_network(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "wrap",
    [
        with_a_prefix,
        wrapped,
        lambda state: {"model": with_a_prefix(state), "optimizer": {"lr": 0.1}},
    ],
)
def test_what_training_scripts_put_around_the_weights_is_taken_off(
    network: PixelNavNetwork, tmp_path: Path, wrap: Callable[[State], State]
) -> None:
    path = tmp_path / "wrapped.ckpt"
    torch.save(wrap(network.state_dict()), path)
    again = load_network(path).state_dict()
    assert all(torch.equal(tensor, again[name]) for name, tensor in network.state_dict().items())


@pytest.mark.parametrize("save", [torch.save, lambda what, path: path.write_bytes(pickle.dumps(what, protocol=2))])
def test_code_in_a_checkpoint_does_not_run(save: Callable[[object, Path], None], tmp_path: Path) -> None:
    path, folder = tmp_path / "trap.ckpt", tmp_path / "made"
    save({"goal_head.bias": Trap(folder)}, path)
    with pytest.raises(InvalidValue, match="holds objects other than weights"):
        load_network(path)
    assert not folder.exists()


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"\x80\x02.", b"PK\x03\x04" + bytes(40)])
def test_a_damaged_file_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "damaged.ckpt"
    path.write_bytes(content)
    with pytest.raises(InvalidValue, match="checkpoint = "):
        load_network(path)


def test_a_cut_off_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.ckpt"
    torch.save({"a": torch.arange(1000)}, path)
    whole = path.read_bytes()
    for share in range(1, 10):
        path.write_bytes(whole[: len(whole) * share // 10])
        with pytest.raises(InvalidValue, match="checkpoint = "):
            load_network(path)


def test_a_list_of_tensors_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "list.ckpt"
    torch.save([torch.zeros(3)], path)
    with pytest.raises(InvalidValue, match="holds something of type list"):
        load_network(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"nothing\.ckpt.*is not a file"):
        load_network(tmp_path / "nothing.ckpt")

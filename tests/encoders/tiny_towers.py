"""Tiny image-text models in the layouts that fastembed reads: random weights, real graphs, real tokenizers.

The picture's mean colour and the words' hashed colours land in one space, so that "red" is near a red picture.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper
from tokenizers import Tokenizer, models, pre_tokenizers

from tests.perception.tiny_onnx import save

DIM = 8
SIDE = 16
WORDS = ["[PAD]", "[UNK]", "a", "photo", "of", "red", "green", "blue", "mug", "chair", "thing"]
PREPROCESSOR = {
    "do_resize": True,
    "size": {"height": SIDE, "width": SIDE},
    "do_rescale": True,
    "do_normalize": True,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
}


def _colors() -> NDArray[np.float32]:
    """Directions of red, green and blue in the shared space: orthogonal, from a fixed seed."""
    random = np.random.default_rng(5).normal(size=(DIM, 3))
    return np.asarray(np.linalg.qr(random)[0].T, dtype=np.float32)


def vision_tower(path: Path, output: str) -> None:
    nodes = [
        helper.make_node("GlobalAveragePool", ["pixel_values"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["rgb"]),
        helper.make_node("Add", ["rgb", "one"], ["positive"]),
        helper.make_node("MatMul", ["positive", "colors"], [output]),
    ]
    save(
        path,
        nodes,
        [helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, ["batch", 3, SIDE, SIDE])],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", DIM])],
        {"one": np.array(1.001, dtype=np.float32), "colors": _colors()},
    )


def text_tower(path: Path, output: str) -> None:
    table = np.random.default_rng(6).normal(size=(len(WORDS), DIM)).astype(np.float32) * np.float32(0.01)
    for i, color in enumerate(("red", "green", "blue")):
        table[WORDS.index(color)] += _colors()[i]
    table[WORDS.index("[PAD]")] = 0.0
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["tokens"]),
        helper.make_node("ReduceSum", ["tokens", "axis"], [output], keepdims=0),
    ]
    inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "length"])]
    if output != "pooler_output":
        inputs.append(helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "length"]))
        nodes.append(helper.make_node("Identity", ["attention_mask"], ["mask_out"]))
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", DIM])]
    if output != "pooler_output":
        outputs.append(helper.make_tensor_value_info("mask_out", TensorProto.INT64, ["batch", "length"]))
    save(path, nodes, inputs, outputs, {"table": table, "axis": np.array([1], dtype=np.int64)})


def tokenizer(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.save(str(folder / "tokenizer.json"))
    write(folder / "tokenizer_config.json", {"model_max_length": 12, "pad_token": "[PAD]"})
    write(folder / "config.json", {"pad_token_id": 0})
    write(folder / "special_tokens_map.json", {"pad_token": "[PAD]", "unk_token": "[UNK]"})


def write(path: Path, value: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def tiny_clip(folder: Path) -> Path:
    """A folder with vision/ and text/ as fastembed's two CLIP repositories have them."""
    vision_tower(folder / "vision" / "model.onnx", "image_embeds")
    write(
        folder / "vision" / "preprocessor_config.json", {**PREPROCESSOR, "image_processor_type": "CLIPImageProcessor"}
    )
    text_tower(folder / "text" / "model.onnx", "text_embeds")
    tokenizer(folder / "text")
    return folder


def tiny_siglip2(folder: Path) -> Path:
    """One folder with onnx/ and the files beside it, as SigLIP 2's conversion has them."""
    vision_tower(folder / "onnx" / "vision_model.onnx", "pooler_output")
    text_tower(folder / "onnx" / "text_model.onnx", "pooler_output")
    write(folder / "preprocessor_config.json", {**PREPROCESSOR, "image_processor_type": "SiglipImageProcessor"})
    tokenizer(folder)
    return folder

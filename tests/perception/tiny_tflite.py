"""A TensorFlow Lite detector of a few hundred bytes: its outputs are constants, whatever the image."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

TYPES = {np.dtype(np.float32): 0, np.dtype(np.uint8): 3, np.dtype(np.int8): 9}
"""Numbers of the tensor types in the schema of TensorFlow Lite."""


def tflite_model(
    outputs: Sequence[tuple[str, NDArray[np.float32]]],
    *,
    side: int = 64,
    kind: type[np.generic] = np.uint8,
    channels: int = 3,
) -> bytes:
    """A model that takes one image and gives the named arrays."""
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    def tensor(name: str, shape: tuple[int, ...], dtype: np.dtype[Any], buffer: int) -> Any:
        made = schema.TensorT()
        made.name, made.shape, made.type, made.buffer = name.encode(), list(shape), TYPES[dtype], buffer
        if dtype == np.int8:
            made.quantization = schema.QuantizationParametersT()
            made.quantization.scale, made.quantization.zeroPoint = [1.0 / 127.5], [0]
        return made

    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.buffers, model.subgraphs, model.operatorCodes = 3, [schema.BufferT()], [graph], []
    graph.tensors = [tensor("image", (1, side, side, channels), np.dtype(kind), 0)]
    graph.inputs, graph.outputs, graph.operators = [0], [], []
    for number, (name, values) in enumerate(outputs, start=1):
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(values.astype(np.float32).tobytes(), dtype=np.uint8)
        model.buffers.append(buffer)
        graph.tensors.append(tensor(name, values.shape, np.dtype(np.float32), number))
        graph.outputs.append(number)
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def with_names(model: bytes, names: Sequence[str], path: Path) -> Path:
    """Write a model with a label map behind it, as converters do: the file is also a zip archive."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("labelmap.txt", "\n".join(names))
    path.write_bytes(model + archive.getvalue())
    return path

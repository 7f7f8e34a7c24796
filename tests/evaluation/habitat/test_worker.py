"""The messages between lastseen and the worker: whole, bounded, and of one version."""

from __future__ import annotations

import ast
import json
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from lastseen.evaluation.habitat import worker

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ends = socket.socketpair()
    for end in ends:
        end.settimeout(20.0)
    yield ends
    for end in ends:
        end.close()


def prefix(text: int, arrays: int, *, version: int = worker.PROTOCOL, magic: bytes = worker.MAGIC) -> bytes:
    return struct.pack("!4sHIQ", magic, version, text, arrays)


def test_what_is_sent_is_received(pair: Pair) -> None:
    rgb = np.arange(60, dtype=np.uint8).reshape(4, 5, 3)[:, ::-1]
    depth = np.array([[1.5, np.nan]], dtype=np.float32)
    worker.send(pair[0], {"do": "step", "name": "bücher"}, {"rgb": rgb, "depth": depth})
    message, arrays = worker.receive(pair[1])
    assert message == {"do": "step", "name": "bücher"}
    np.testing.assert_array_equal(arrays["rgb"], rgb)
    np.testing.assert_array_equal(arrays["depth"], depth)
    assert arrays["rgb"].flags.writeable


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        (prefix(2, 0, magic=b"GET "), "not the beginning"),
        (prefix(2, 0, version=9), "protocol 9 is not 1"),
        (prefix(worker.MAX_JSON + 1, 0), "exceeds"),
        (prefix(2, worker.MAX_ARRAYS + 1), "exceeds"),
        (prefix(2, 0) + b"{]", "not as it should be"),
        (prefix(2, 0) + b"{}", "not as it should be"),
    ],
)
def test_what_is_no_message_is_refused_before_more_is_read(pair: Pair, sent: bytes, problem: str) -> None:
    pair[0].sendall(sent)
    with pytest.raises(worker.ProtocolError, match=problem):
        worker.receive(pair[1])


@pytest.mark.parametrize(
    "described",
    [
        [["rgb", "object", [1]]],
        [["rgb", "uint8", [-1, 1]]],
        [["rgb", "uint8", [1 << 40]]],
        [["rgb", "uint8", [2]]],
        [["rgb", "uint8", "12"]],
        [],
    ],
)
def test_arrays_are_of_known_types_and_of_the_length_that_was_told(pair: Pair, described: list[object]) -> None:
    text = json.dumps({"message": {}, "arrays": described}).encode()
    pair[0].sendall(prefix(len(text), 1) + text + b"x")
    with pytest.raises(worker.ProtocolError):
        worker.receive(pair[1])


def test_other_types_are_not_sent(pair: Pair) -> None:
    with pytest.raises(worker.ProtocolError, match="float64"):
        worker.send(pair[0], {}, {"depth": np.zeros(3)})


def test_a_connection_that_ends_within_a_message_is_an_end(pair: Pair) -> None:
    pair[0].sendall(prefix(100, 0) + b"{")
    pair[0].close()
    with pytest.raises(EOFError):
        worker.receive(pair[1])


def test_it_is_one_file_of_the_standard_library_numpy_and_habitat_for_python_3_8() -> None:
    tree = ast.parse(Path(worker.__file__).read_text(encoding="utf-8"), feature_version=(3, 8))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not {name for name in imported if name.startswith(("lastseen", "torch", "pickle"))}
    assert {"habitat", "numpy"} <= imported

"""What the bridges write, read back with the viewers' own tools; run by ``test_bridge.py``."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lastseen.bridges.bridge import open_bridge
from lastseen.bridges.foxglove_bridge import FoxgloveBridge
from tests.bridges.walk import show_walk


def printed(file: Path) -> list[str]:
    """The chunks of a rerun file as its own tool prints them."""
    rerun = shutil.which("rerun", path=str(Path(sys.executable).parent))
    assert rerun is not None
    done = subprocess.run([rerun, "rrd", "print", "-vvv", str(file)], capture_output=True, text=True, check=True)
    return done.stdout.split("Chunk(")


def test_a_rerun_file_holds_camera_objects_and_their_end(tmp_path: Path) -> None:
    file = tmp_path / "walk.rrd"
    gone = show_walk(open_bridge("--rerun", str(file)))
    chunks = printed(file)
    text = "\n".join(chunks)
    for path in ("color/image", "depth/image", "color/detections"):
        assert f"world/camera/{path}" in text
    assert "world/path" in text
    assert "belief" in text
    # it stood there, and is cleared where it was forgotten; the other thing is not
    assert any(f"world/objects/{gone}" in chunk and "Boxes3D" in chunk for chunk in chunks)
    cleared = [chunk for chunk in chunks if "ClearIsRecursive" in chunk or "Clear:is_recursive" in chunk]
    assert any(f"world/objects/{gone}" in chunk for chunk in cleared)
    assert all(f"world/objects/{gone}" in chunk for chunk in cleared)


def test_a_foxglove_file_holds_scene_updates_with_deletions(tmp_path: Path) -> None:
    from mcap.reader import make_reader
    from mcap_protobuf.decoder import DecoderFactory

    file = tmp_path / "walk.mcap"
    gone = show_walk(open_bridge("--foxglove", str(file)))
    with file.open("rb") as opened:
        reader = make_reader(opened, decoder_factories=[DecoderFactory()])
        found = [(channel.topic, message.log_time, tree) for _, channel, message, tree in _decoded(reader)]
    topics = {topic for topic, _, _ in found}
    assert topics >= {"/camera/color", "/camera/depth", "/camera/detections", "/tf", "/objects", "/path"}
    updates = [(time, tree) for topic, time, tree in found if topic == "/objects"]
    born = [time for time, tree in updates if any(one.id == gone for one in tree.entities)]
    died = [time for time, tree in updates if any(one.id == gone for one in tree.deletions)]
    assert born
    assert died == [103_000_000_000]
    assert max(born) < died[0]
    # what is not deleted stays until it is replaced
    assert all(one.lifetime.seconds == 0 for _, tree in updates for one in tree.entities)


def _decoded(reader: Any) -> Any:
    topics = ["/camera/color", "/camera/depth", "/camera/detections", "/tf", "/objects", "/path"]
    return reader.iter_decoded_messages(topics=topics)


def test_the_foxglove_server_listens_on_loopback_alone() -> None:
    bridge = FoxgloveBridge(None, port=0)
    assert bridge.port > 0
    show_walk(bridge)
    bridge.close()


@pytest.mark.parametrize("name", ["rerun_bridge", "foxglove_bridge"])
def test_closing_twice_does_no_harm(tmp_path: Path, name: str) -> None:
    option, suffix = ("--rerun", ".rrd") if name.startswith("rerun") else ("--foxglove", ".mcap")
    bridge = open_bridge(option, str(tmp_path / f"walk{suffix}"))
    bridge.close()
    bridge.close()

"""Our scene graphs read by spark-dsg itself, and its own read by us; run by ``tests/bridges/test_bridge.py``."""

from __future__ import annotations

from pathlib import Path

import spark_dsg

from lastseen.memory.export import read_home, write_spark_dsg
from tests.memory.test_export import HOME


def test_spark_dsg_reads_what_we_write_and_we_read_what_it_writes(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.json", tmp_path / "theirs.json"
    write_spark_dsg(ours, HOME)
    graph = spark_dsg.DynamicSceneGraph.load(str(ours))
    objects = {node.attributes.name: node for node in graph.get_layer(spark_dsg.DsgLayers.OBJECTS).nodes}
    assert set(objects) == {"mug", "bed"}
    assert objects["mug"].attributes.position.tolist() == [0.5, 1.0, 0.5]
    room = graph.get_node(objects["mug"].get_parent())
    assert room.attributes.name == "kitchen"
    assert graph.get_node(room.get_parent()).attributes.name == "home"
    graph.save(str(theirs), False)
    again, before = read_home(theirs), read_home(ours)
    assert sorted(one["label"] for one in again["objects"]) == ["bed", "mug"]
    assert {room["name"] for room in again["rooms"]} == {room["name"] for room in before["rooms"]}

from __future__ import annotations

from tests.memory.objects.scenes import frame_at, seen, unit

from lastseen.memory.objects import ObjectMemory


def remembered(**things: tuple[tuple[float, float, float], tuple[float, float, float]]) -> ObjectMemory:
    """Confirmed things by label, each with centre and size, in the order given."""
    memory = ObjectMemory()
    for number, (label, (xyz, size)) in enumerate(things.items()):
        for side in (-2.0, 2.0):
            eye = (xyz[0] + side, xyz[1], xyz[2] + 0.3)
            look = unit(number + 1)
            memory.observe(frame_at(number), [seen(xyz, eye=eye, size=size, labels={label: 1.0}, embedding=look)])
    return memory


def told(memory: ObjectMemory, label: str) -> list[tuple[str, str | None]]:
    (one,) = memory.states(label=label)
    return [(str(relation.kind), memory.state(relation.other_id).label) for relation in memory.relations(one.id)]


TABLE = ((2.0, 0.0, 0.4), (1.2, 0.8, 0.8))


def test_a_mug_on_a_table() -> None:
    memory = remembered(table=TABLE, mug=((2.1, 0.1, 0.86), (0.1, 0.1, 0.1)))
    assert told(memory, "mug") == [("on", "table")]
    assert told(memory, "table") == [("under", "mug")]


def test_a_toy_in_a_box() -> None:
    memory = remembered(box=((2.0, 0.0, 0.3), (0.6, 0.6, 0.6)), toy=((2.0, 0.1, 0.2), (0.1, 0.1, 0.1)))
    assert told(memory, "toy") == [("in", "box")]


def test_a_chair_next_to_a_table_and_not_to_one_across_the_room() -> None:
    memory = remembered(
        table=TABLE, chair=((3.0, 0.0, 0.45), (0.5, 0.5, 0.9)), sofa=((6.0, 0.0, 0.4), (0.9, 2.0, 0.8))
    )
    assert told(memory, "chair") == [("next to", "table")]


def test_what_hangs_high_above_is_not_next_to_what_stands_below() -> None:
    memory = remembered(table=TABLE, lamp=((2.0, 0.0, 2.0), (0.4, 0.4, 0.3)))
    assert told(memory, "lamp") == []
    assert told(memory, "table") == [("under", "lamp")]


def test_neighbours_are_told_nearest_first() -> None:
    memory = remembered(
        cup=((2.0, 0.0, 0.8), (0.1, 0.1, 0.1)),
        jar=((2.0, 0.5, 0.8), (0.1, 0.1, 0.1)),
        pot=((2.0, -0.3, 0.8), (0.1, 0.1, 0.1)),
    )
    assert told(memory, "cup") == [("next to", "pot"), ("next to", "jar")]


def test_a_lamp_two_floors_up_is_above_nothing_down_here() -> None:
    memory = remembered(table=TABLE, lamp=((2.0, 0.0, 8.0), (0.4, 0.4, 0.3)))
    assert told(memory, "table") == []


def test_a_pillow_on_a_bed_whose_box_holds_the_headboard() -> None:
    memory = remembered(bed=((2.0, 0.0, 0.5), (2.0, 1.6, 1.0)), pillow=((2.0, 0.0, 0.98), (0.4, 0.6, 0.2)))
    assert told(memory, "pillow") == [("on", "bed")]

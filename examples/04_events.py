"""Be told what happens: things confirmed, moved and missing, as the frames come in (extra ``sim``).

python examples/04_events.py
"""

from __future__ import annotations

import lastseen
from lastseen.perception.pipeline import Perception

WORTH_TELLING = ("confirmed", "moved", "missing", "reappeared")


def tell(event: lastseen.Event) -> None:
    """Print an event in one line; a robot would act on it."""
    if event.kind in WORTH_TELLING:
        print(f"{event.stamp:6.1f} s  {event.kind}: {event.evidence.get('label', 'thing')} ({event.object_id})")


with lastseen.open() as memory, lastseen.open_source("sim://7?minutes=0.3&level=good&changes=2") as source:
    end = memory.subscribe(tell)
    perception = Perception(memory.settings, detector=source.detector())
    for frame in source.frames():
        perceived = perception.perceive(frame)
        if perceived.refusal is None:
            memory.observe(frame, perceived.observations, people=perceived.people)
    end()
    print(len(memory.what_changed()), "changes are remembered")

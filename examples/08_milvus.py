"""Many robots share an index: what one saw, all can ask for (extra ``milvus``, and a server: docs/milvus.md).

python examples/08_milvus.py milvus://localhost:19530/home
"""

from __future__ import annotations

import sys
from dataclasses import replace

import lastseen

if len(sys.argv) < 2:
    sys.exit("give the address of a collection, for example milvus://localhost:19530/home; docs/milvus.md starts one")
address = sys.argv[1]
settings = lastseen.Settings()
for robot, thing in (("ann", "kettle"), ("bob", "umbrella")):
    named = replace(settings, store=replace(settings.store, robot=robot))
    with lastseen.open(settings=named, index=address) as memory:
        memory.tell(f"there is a {thing}", position=(1.0, 1.0, 0.8))
        memory.flush()
        if memory.shared.outbox is not None:
            memory.shared.outbox.settle(30.0)
        answer = memory.find("kettle", robots="all")
        print(f"{robot} asks all robots for a kettle: {answer.status}, {answer.reason}")

"""How long a question in words takes among many objects: python benchmarks/questions.py [--objects 10000].

A memory file of a grid of things is opened and asked one question of every kind and relation, each several times;
the first round warms up. The goal is a median of 20 ms at 10,000 objects.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from lastseen.memory.memory import Memory
from support.load import fill

QUESTIONS = (
    "where is the red mug?",
    "where is the mug closest to the sofa?",
    "which chair is second closest to the bed?",
    "which lamp is farthest from the table?",
    "where is the book on the table?",
    "where is the bottle near the bed?",
    "where is the plant between the sofa and the bed?",
    "where is the chair left of the bed?",
    "where is the big bed?",
    "the leftmost lamp",
    "is there a piano?",
    "is the bowl next to the lamp?",
    "how many chairs are there?",
    "how many mugs are near the table?",
    "what is near the sofa?",
    "what is missing?",
    "what changed in the last hour?",
    "when did you last see the lamp?",
    "how often have you seen the bowl?",
    "have you been in the kitchen?",
)
ROUNDS = 5


def main() -> None:
    """Fill a file, ask, print the times in milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "many.lastseen"
        fill(str(path), options.objects)
        with Memory.open(path, read_only=True) as memory:
            for question in QUESTIONS:
                memory.ask(question)
            times: dict[str, list[float]] = {question: [] for question in QUESTIONS}
            for _ in range(ROUNDS):
                for question in QUESTIONS:
                    start = time.perf_counter()
                    memory.ask(question)
                    times[question].append(1000.0 * (time.perf_counter() - start))
            count = len(memory.objects())
    by_question = {question: round(statistics.median(each), 2) for question, each in times.items()}
    every = sorted(one for each in times.values() for one in each)
    p50, p95 = statistics.median(every), every[int(0.95 * len(every))]
    print(
        json.dumps({"objects": count, "p50_ms": round(p50, 2), "p95_ms": round(p95, 2), "ms": by_question}, indent=1)
    )


if __name__ == "__main__":
    main()

"""How long retrieval takes over many nodes, against a plain loop over all of them, in the same run.

Cold is a goal never asked before, over nodes already indexed (each node is indexed once in its life; the first ask
of a fresh store is reported beside it). Both sides are timed in turn, and every answer is compared to the last bit.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import statistics
import time
from collections.abc import Callable
from typing import TypeVar

from rich.console import Console
from rich.progress import track
from rich.table import Table

from lastseen.belief import Candidate
from lastseen.memory.nodes import (
    DeterministicEmbedder,
    MemoryNode,
    Pose2D,
    SemanticMemoryStore,
    cosine_similarity,
    retrieve_candidates,
    tokenize,
)

NODES = 10_000
REPEATS_PER_GOAL = 20
GOALS = {"ms_10k_nodes": 40.0, "ms_10k_repeated": 0.1, "speedup_vs_plain": 10.0}
COLUMNS = [
    "first ask",
    "cold p50",
    "cold p99",
    "cold cpu",
    "repeated p50",
    "repeated p99",
    "plain p50",
    "plain / cold",
]
T = TypeVar("T")


def plain_loop(goal_text: str, nodes: list[MemoryNode], embedder: DeterministicEmbedder) -> list[Candidate]:
    goal_tokens = tokenize(goal_text)
    if not goal_tokens:
        return []
    u = embedder.embed_text(goal_text)
    found: list[Candidate] = []
    for node in sorted(nodes, key=lambda node: node.node_id):
        text = node.summary + " " + " ".join(node.tags)
        node_tokens = set(tokenize(text))
        v = node.embedding if node.embedding is not None else embedder.embed_text(text)
        embedding_score = (cosine_similarity(u, v) + 1.0) / 2.0
        keyword_score = len(set(goal_tokens) & node_tokens) / len(goal_tokens)
        score = max(0.0, min(1.0, 0.8 * embedding_score + 0.2 * keyword_score))
        found.append({"node_id": node.node_id, "score": score})
    return sorted(found, key=lambda c: (-c["score"], c["node_id"]))[:5]


def make_store(rng: random.Random, words: list[str], *, embedded: bool) -> SemanticMemoryStore:
    store, embedder = SemanticMemoryStore(), DeterministicEmbedder()
    for _ in range(NODES):
        pose = Pose2D(rng.uniform(-50, 50), rng.uniform(-50, 50), 0.0)
        tags, summary = rng.choices(words, k=4), " ".join(rng.choices(words, k=6))
        store.add_node(pose, embedder.embed_text(summary) if embedded else None, tags, summary)
    return store


def timed(run: Callable[[], T]) -> tuple[T, float, float]:
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    result = run()
    return result, (time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3


def p99(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.99 * len(values)))]


def measure(store: SemanticMemoryStore, goals: list[str], *, name: str) -> tuple[dict[str, list[float]], bool]:
    embedder, nodes = DeterministicEmbedder(), store.all_nodes()
    keys = ("first", "cold", "cold_cpu", "repeated", "plain", "plain_cpu")
    times: dict[str, list[float]] = {key: [] for key in keys}
    _, first, _ = timed(lambda: retrieve_candidates("never asked", store, embedder))
    times["first"].append(first)
    identical = True
    for goal in track(goals, description=name, console=Console(stderr=True)):
        plain, wall, cpu = timed(lambda: plain_loop(goal, nodes, embedder))  # noqa: B023
        times["plain"].append(wall)
        times["plain_cpu"].append(cpu)
        ours, wall, cpu = timed(lambda: retrieve_candidates(goal, store, embedder))  # noqa: B023
        times["cold"].append(wall)
        times["cold_cpu"].append(cpu)
        for _ in range(REPEATS_PER_GOAL):
            started = time.perf_counter()
            again = retrieve_candidates(goal, store, embedder)
            times["repeated"].append((time.perf_counter() - started) * 1e3)
            identical = identical and again == plain
        identical = identical and ours == plain
    return times, identical


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer goals over the same 10,000 nodes")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    words = [f"word{number}" for number in range(800)]
    goals = [" ".join(rng.choices(words, k=rng.randint(1, 4))) for _ in range(6 if arguments.quick else 40)]

    table = Table("nodes", *COLUMNS)
    medians: dict[str, dict[str, float]] = {}
    identical = True
    for name, embedded in (("text only", False), ("embedded", True)):
        times, same = measure(make_store(rng, words, embedded=embedded), goals, name=name)
        identical = identical and same
        middle = medians[name] = {key: statistics.median(values) for key, values in times.items()}
        middle["speedup"] = middle["plain_cpu"] / middle["cold_cpu"]
        shown = [middle["first"], middle["cold"], p99(times["cold"]), middle["cold_cpu"], middle["repeated"]]
        shown += [p99(times["repeated"]), middle["plain"], middle["speedup"]]
        table.add_row(name, *(f"{value:.3f}" for value in shown))
    console = Console(width=130)
    console.print(table)
    console.print("times in ms; plain / cold compares cpu time")
    console.print("'text only' has no stored embeddings: the plain loop embeds every node's text on every call")

    result: dict[str, float] = {
        "ms_10k_nodes": max(middle["cold"] for middle in medians.values()),
        "ms_10k_repeated": max(middle["repeated"] for middle in medians.values()),
        "speedup_vs_plain": medians["text only"]["speedup"],
        "speedup_vs_plain_embedded": medians["embedded"]["speedup"],
        "first_ask_ms": max(middle["first"] for middle in medians.values()),
        "plain_ms": medians["text only"]["plain"],
    }
    for key, goal in GOALS.items():
        met = result[key] >= goal if key.startswith("speedup") else result[key] <= goal
        console.print(f"{key}: {result[key]:.3f}, goal {goal}: {'met' if met else 'MISSED'}")
    print("RESULT " + json.dumps(result | {"identical": identical, "nodes": NODES, "goals": len(goals)}))


if __name__ == "__main__":
    main()

"""The documented entry point of the memory-guided search: ``python -m lastseen.runtime.loop --self-check``.

Without ``--self-check`` it searches over memory nodes alone: the world is exactly what memory says, and
nothing moves. The loop itself is ``lastseen.search.loop``; a search that walks is ``lastseen.Search``.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable, Iterable
from os import PathLike

from lastseen.config import Settings
from lastseen.errors import LastseenError
from lastseen.memory.nodes.store import seed_demo_store
from lastseen.search.log import RunLog, one_line
from lastseen.search.loop import MEMORY_SCORE_THRESH, SearchLoop, SearchResult
from lastseen.search.node_world import NodeWorld, SearchedNodes, linked_by_distance, open_nodes
from lastseen.search.planning.hypothesis import RULES, HypothesisPlanner
from lastseen.search.planning.node_graph import judgeable
from lastseen.vlm import open_backend

__all__ = ["MEMORY_SCORE_THRESH", "SearchLoop", "SearchResult", "main", "said", "search_nodes"]


def main(arguments: list[str] | None = None) -> int:
    """Search over a nodes file, or run the self-check: ``python -m lastseen.runtime.loop --help``."""
    options = _parser().parse_args(arguments)
    if options.self_check:
        from lastseen.search.self_check import print_self_check

        return print_self_check()
    try:
        result = search_nodes(
            options.goal,
            steps=options.steps,
            seed=options.seed,
            memory=options.memory,
            backend=options.backend,
            constraints=options.constraint,
            log=options.log,
            write=print,
        )
    except LastseenError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print("\n".join(said(result)))
    return 0


def search_nodes(
    goal: str,
    *,
    steps: int | None = None,
    seed: int = 0,
    memory: str | PathLike[str] | None = None,
    backend: str = RULES,
    constraints: Iterable[str] = (),
    log: str | PathLike[str] | None = None,
    settings: Settings | None = None,
    write: Callable[[str], object] = lambda _: None,
) -> SearchResult:
    """Search in a world that is what the nodes say; ``write`` gets one line per step."""
    settings = settings or Settings()
    kept, _ = judgeable(constraints := list(constraints))
    model = None if backend == RULES else open_backend(backend, settings.planner, seed=seed)
    with RunLog(log) as run_log, _nodes(memory, settings) as held:
        run_log.header(goal=goal, seed=seed, settings=settings, backend=backend)
        search = SearchLoop(
            goal,
            store=held.store,
            embedder=held.embedder,
            planner=HypothesisPlanner(model, settings),
            world=NodeWorld(
                held.paths, seed=seed, closed=lambda node: any(each.forbids(node) for each in kept), find=held.find
            ),
            paths=held.paths,
            settings=settings,
            constraints=constraints,
            log=run_log,
            answer=None if held.find is None else held.find(goal),
        )
        limit = settings.search.max_steps if steps is None else steps
        while search.result is None and search.steps < limit:
            write(one_line(search.step()))
        return search.run(limit)


def said(result: SearchResult) -> list[str]:
    """A result in lines for people: how the search ended, and what the attached memory says of the goal."""
    lines = [f"{result.status} after {result.steps} steps: {result.question or result.reason}"]
    if result.answer is not None:
        lines.append(f"memory says {result.answer.status}: {result.answer.reason}")
    return lines


def _nodes(
    memory: str | PathLike[str] | None, settings: Settings
) -> contextlib.AbstractContextManager[SearchedNodes]:
    if memory is not None:
        return open_nodes(memory, settings)
    # TODO: Replace seed_demo_store() with persisted SLAM-derived nodes in production
    return contextlib.nullcontext(linked_by_distance(seed_demo_store()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lastseen.runtime.loop", description=main.__doc__)
    parser.add_argument("goal", nargs="?", default="red mug", help="what to look for (default: %(default)s)")
    parser.add_argument("--self-check", action="store_true", help="check every invariant and exit, 1 on failure")
    parser.add_argument("--steps", type=int, help="stop after this many steps")
    parser.add_argument("--seed", type=int, default=0, help="chooses the start and the mock's answers")
    parser.add_argument("--memory", metavar="FILE", help="a memory file or a nodes file (default: a demo flat)")
    parser.add_argument("--backend", default=RULES, help="a lastseen.vlm backend; default: %(default)s, no model")
    parser.add_argument("--constraint", action="append", default=[], help="such as 'avoid: kitchen'; repeatable")
    parser.add_argument("--log", metavar="FILE", help="write the step log here, one JSON object per line")
    return parser


if __name__ == "__main__":
    sys.exit(main())

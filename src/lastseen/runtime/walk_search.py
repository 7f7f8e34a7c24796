"""A search by walking, put together: memory of places, planner, policy, world and loop around one environment.

The simulator's arms and Habitat's episodes are searched by the same parts, wired once, here; what differs comes in
as the environment, the detector and the model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lastseen.config import Settings
from lastseen.memory.nodes.embedding import DeterministicEmbedder
from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.memory.places import SpatialMemory
from lastseen.planning.node_graph import NodeGraph
from lastseen.planning.panorama_planner import PanoramaPlanner
from lastseen.planning.scene import SceneAnalyzer
from lastseen.policy.geometric import GeometricPixelPolicy
from lastseen.policy.protocol import PixelPolicy
from lastseen.protocols import Detector, Environment
from lastseen.runtime.environment_world import EnvironmentWorld
from lastseen.runtime.known_map import KnownMap
from lastseen.runtime.log import RunLog
from lastseen.runtime.loop import SearchLoop, SearchResult
from lastseen.runtime.timing import MeteredBackend, TimingLog
from lastseen.vlm.protocol import Backend


class WalkSearch:
    """One search for one target; making it resets the environment and looks once, ``run`` does the rest.

    ``use_context`` and ``edit`` decide what of its context the planner reads; ``known`` is the map of an earlier
    visit; ``policy`` is the geometric one unless given.
    """

    def __init__(
        self,
        target: str,
        environment: Environment,
        detector: Detector,
        model: Backend,
        *,
        settings: Settings,
        seed: int = 0,
        policy: PixelPolicy | None = None,
        use_context: bool = True,
        edit: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
        known: KnownMap | None = None,
        log: RunLog | None = None,
        timing: TimingLog | None = None,
        with_images: bool = False,
    ) -> None:
        self.settings = settings
        self.spatial = spatial = SpatialMemory(settings)
        self.log = log or RunLog()
        timing = timing or TimingLog(settings=settings.planner)
        planning = MeteredBackend(model, timing, kind="planner", step_id=lambda: spatial.step_id)
        naming = MeteredBackend(model, timing, kind="scene", step_id=lambda: spatial.step_id)
        planner = PanoramaPlanner(planning, spatial, settings=settings, use_context=use_context, edit=edit)
        self.log.header(goal=target, seed=seed, settings=settings, backend=model.name, scene_backend=model.name)
        self.world = EnvironmentWorld(
            environment,
            detector,
            policy or GeometricPixelPolicy(settings.policy, stop=settings.stop, motion=settings.dead_reckoning),
            target=target,
            planner=planner,
            analyzer=SceneAnalyzer(naming, settings),
            settings=settings,
            log=self.log,
            known=known,
            with_images=with_images,
        )
        store = SemanticMemoryStore() if known is None else known.store
        self.loop = SearchLoop(
            target,
            store=store,
            embedder=DeterministicEmbedder(settings.retrieval.embedder_dim),
            planner=planner,
            world=self.world,
            ways=NodeGraph(store.nodes, ()) if known is None else known.ways,
            settings=settings,
        )

    def run(self, *, over: Callable[[], bool] = lambda: False) -> SearchResult:
        """Search until there is a result, the steps are spent, or the environment is ``over``."""
        loop, limit = self.loop, self.settings.search.max_steps
        while loop.result is None and loop.steps < limit and not over():
            loop.step()
        self.world.finish()
        # no steps left to take: the result, or that there is none
        return loop.run(loop.steps)

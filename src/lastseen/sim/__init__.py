"""Homes to see, move and search in, from pip alone: no GPU, no GL, no download."""

from typing import TYPE_CHECKING

from lastseen._lazy import lazy_exports

if TYPE_CHECKING:
    from lastseen.sim.detector import SimulatedDetector as SimulatedDetector
    from lastseen.sim.environment import Senses as Senses
    from lastseen.sim.environment import SimEnvironment as SimEnvironment
    from lastseen.sim.episodes import make_episodes as make_episodes
    from lastseen.sim.home import Home as Home

__all__ = ["Home", "Senses", "SimEnvironment", "SimulatedDetector", "make_episodes"]

__getattr__ = lazy_exports(
    __name__,
    {
        "Home": "lastseen.sim.home",
        "Senses": "lastseen.sim.environment",
        "SimEnvironment": "lastseen.sim.environment",
        "SimulatedDetector": "lastseen.sim.detector",
        "make_episodes": "lastseen.sim.episodes",
    },
)

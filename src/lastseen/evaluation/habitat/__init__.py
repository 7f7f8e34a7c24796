"""Habitat: any ``habitat.Env`` behind our seam, searched by our loop and judged by Habitat's own measures.

Nothing here imports habitat-lab but ``open_objectnav``; an environment that is open already is enough for the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastseen._lazy import lazy_exports

if TYPE_CHECKING:
    from lastseen.evaluation.habitat.environment import HabitatEnvironment
    from lastseen.evaluation.habitat.searching import (
        objectnav_config,
        open_objectnav,
        search_episode,
        search_episodes,
    )

__all__ = [
    "HabitatEnvironment",
    "objectnav_config",
    "open_objectnav",
    "search_episode",
    "search_episodes",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "HabitatEnvironment": "lastseen.evaluation.habitat.environment",
        "objectnav_config": "lastseen.evaluation.habitat.searching",
        "open_objectnav": "lastseen.evaluation.habitat.searching",
        "search_episode": "lastseen.evaluation.habitat.searching",
        "search_episodes": "lastseen.evaluation.habitat.searching",
    },
)

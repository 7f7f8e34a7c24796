"""Every default of lastseen in one typed tree, with its unit and the reason for it.

``Settings()`` holds the defaults; ``load(path)`` reads a TOML file and the environment over it.
Each part of the system reads only its own section, so the sections live in one file per part.
"""

from lastseen.config.section import Section, describe, setting
from lastseen.config.settings import ENVIRONMENT_PREFIX, Settings, load, settings_from_mapping

__all__ = [
    "ENVIRONMENT_PREFIX",
    "Section",
    "Settings",
    "describe",
    "load",
    "setting",
    "settings_from_mapping",
]

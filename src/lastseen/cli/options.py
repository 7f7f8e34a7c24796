"""What every command shares: the options given before its name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from lastseen.config import Settings


@dataclass(frozen=True, slots=True)
class Options:
    """The options of ``lastseen`` itself."""

    debug: bool = False
    settings_file: Path | None = None


def current_settings() -> Settings:
    """The settings this command runs with: defaults, the file given, the environment."""
    from lastseen.config import load

    options = click.get_current_context().find_object(Options)
    return load(options.settings_file if options else None)

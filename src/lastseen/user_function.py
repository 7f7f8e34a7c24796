"""What ``package.module:function`` on a command line names: a function of the user's that makes a part."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from lastseen.errors import InvalidValue, LastseenError


def call_named(field: str, name: str) -> Any:
    """Call the function that ``name`` (``package.module:function``) leads to, without arguments.

    Raises:
        InvalidValue: It cannot be imported, or fails; ``field`` is the option that is named.
    """
    module, _, function = name.partition(":")
    # a file in the folder one works in, as with `python -m`; what is installed comes first
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        make = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise InvalidValue(field, name, f"cannot be imported ({error})", remedy="check the path") from error
    try:
        return make()
    except LastseenError:
        raise
    except Exception as error:
        problem = f"cannot be made ({type(error).__name__}: {error})"
        raise InvalidValue(field, name, problem, remedy="fix the function") from error

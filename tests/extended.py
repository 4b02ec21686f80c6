"""Take back what a course's `extensions/` added to the packages of this process.

Whoever reads a spec in the tests' process adds its course's extensions, often without knowing it,
and they stay: a later file's tests met a language that no folder of the installation has.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import grader
from grader.course.extensions import PACKAGES

INSTALLED = f"{Path(grader.__file__).parent}{os.sep}"


def take_back() -> None:
    """Search the extended packages in the installation alone, and forget what they found beside it.

    A package that this process has not imported has nothing added.
    """
    for name in set(PACKAGES.values()) & sys.modules.keys():
        package = sys.modules[name]
        package.__path__[:] = [place for place in package.__path__ if _is_installed(place)]
        for full in [one for one in sys.modules if one.startswith(f"{name}.")]:
            if not _is_installed(sys.modules[full].__file__):
                del sys.modules[full]
                vars(package).pop(full.removeprefix(f"{name}."), None)


def _is_installed(place: str | None) -> bool:
    return place is not None and place.startswith(INSTALLED)

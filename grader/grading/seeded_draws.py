"""Make Hypothesis draw by the seed alone, wherever the grader is installed.

Hypothesis reads the sources of all modules outside of site-packages and draws constants that it
finds there. So one seed would give other cases in a checkout than where a wheel is installed, and
each judge in a checkout would read for a third of a second.
"""

from __future__ import annotations

from hypothesis.internal.conjecture import providers

READER = "_get_local_constants"  # private: a contract test tries the installed version


def draw_by_seed_alone() -> None:
    """Let Hypothesis know of no modules; in a version without that reading, do nothing."""
    if hasattr(providers, READER):
        from hypothesis.internal.constants_ast import Constants

        setattr(providers, READER, Constants)

"""A class: CI, grading everybody at once, gradebook, leaderboard, releases, published solutions.

Offers the functions behind an instructor's commands.
`__init__.pyi` lists the names, and everything else in here is private.
Used by reports and cli.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

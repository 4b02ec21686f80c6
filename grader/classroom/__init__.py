"""A class: CI runs, all graded at once, gradebook, leaderboard, release, published solutions.

Offers functions behind the commands of an instructor.
`__init__.pyi` lists the names, and everything else in here is private.
For reports and cli.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

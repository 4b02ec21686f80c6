"""A course on disk: exercises, settings, stubs, the manifest of a release.

Offers `Exercise`, and functions from folders to exercises. `__init__.pyi` lists the names, and
everything else in here is private. Used by every room above it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

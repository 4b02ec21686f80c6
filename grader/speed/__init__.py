"""The judge's clock: slots, reference kernels, samples, statistics, explanation.

Offers measurements of one kernel against a bound. `__init__.pyi` lists the names, and everything
else in here is private. Used by grading and every room above it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

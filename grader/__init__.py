"""A course in writing memory-bound GPU kernels, and the judge that grades it.

`grader.check(NAME, KERNEL)` grades from a notebook, and `grader.Judge` many kernels from a program.
They are imported when they are used: workers import this package, too.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""The computer: devices, cores, clocks, GPU memory, the GPU lock, processes, versions.

Offers functions that query the system, and that end processes. `__init__.pyi` lists the names, and
everything else in here is private. Used by every room above `model`, and by the worker (GPU memory
and processes).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

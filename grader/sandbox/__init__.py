"""Workers behind walls: fork servers, the line to a worker, the arena, the remote kernel.

Offers `RemoteKernel`, `WorkerLink`, `ForkServer`, arenas and wall checks. `__init__.pyi` lists the
names, and everything else in here is private. Used by speed and every room above it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

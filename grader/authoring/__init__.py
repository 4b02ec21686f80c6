"""Tools for authors: new, verify, mutants, calibrate, lint.

Offers the modules of commands, and what others need of mutants and lint.
`__init__.pyi` lists the names. `lint` has a face of its own; everything else in here is private.
Used by reports and cli.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""Records and words that cross walls: specs, results, messages, errors, hostile text, files.

Offers the records of an exercise, of a check and of a class, and the lines between processes.
`__init__.pyi` lists the names, and everything else in here is private.
Used by every room, and by the worker (messages and errors).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

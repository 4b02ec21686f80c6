"""Draw the tensors of a case, and find what is wrong with an output.

Offers input distributions, acceptance, likely mistakes, the strategies of property tests.
`__init__.pyi` lists the names, and everything else in here is private.
Used by sandbox and every room above it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

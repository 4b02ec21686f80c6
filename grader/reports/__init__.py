"""Records to text, pages, pictures and the formats of other systems.

Offers renderers, each from a record to text or bytes.
`__init__.pyi` lists the names, and everything else in here is private.
Used by cli.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""One submission graded: judge process, pytest plugin, session, steps, kinds.

Offers `Request`, `run`, `trace` for commands; `Grading`, `Finding` and `Step` for steps.
`__init__.pyi` lists the names, and everything else in here is private.
Used by authoring, classroom, doctor, reports and cli.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

"""A course in writing memory-bound GPU kernels, and the judge that grades it.

`grader.check(NAME, KERNEL)` grades from a notebook, and `grader.Judge` many kernels from a program.
They are imported when they are used: workers import this package, too.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from grader.cli.notebook import Checked as Checked
    from grader.cli.notebook import Judge as Judge
    from grader.cli.notebook import check as check
    from grader.cli.notebook import load_ipython_extension as load_ipython_extension

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submod_attrs={"cli.notebook": ["Checked", "Judge", "check", "load_ipython_extension"]}
)

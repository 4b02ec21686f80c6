from .cli.notebook import Checked as Checked
from .cli.notebook import Judge as Judge
from .cli.notebook import check as check
from .cli.notebook import load_ipython_extension as load_ipython_extension

__version__: str

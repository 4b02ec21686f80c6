"""Names of the language in kernel files."""

from grader.model import SourceNames

NAMES = SourceNames(kernels=frozenset({"toy.kernel"}), half="{value}", clocks=("toy.clock",))

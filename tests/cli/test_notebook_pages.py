"""docs/kernel_grader.ipynb runs as it is kept, and the examples of its pages do what they say."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
from pathlib import Path

import few_cases
import notebook
import pytest
import warm
from IPython.core.interactiveshell import InteractiveShell
from nbformat.v4 import new_code_cell
from pages import BLOCK, ROOT

pytestmark = pytest.mark.slow

PUZZLE, EXERCISES = "puzzles/p01_map", ("01_vector_add", "04_online_softmax")
SHOWN = ["FAIL", "PASS", "PASS", "FAIL", "PASS", "FAIL", "NOT STARTED"]


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("course")
    shutil.copytree(ROOT / PUZZLE, root / PUZZLE)
    for name in EXERCISES:  # a few cases bring each kernel here to the same verdict
        few_cases.put_into(root, name)
    return root


def blocks(name: str, language: str) -> list[str]:
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    return [body for found, body in BLOCK.findall(page) if found == language]


def test_the_kept_outputs_are_of_every_cell():
    kept = notebook.read()
    assert notebook.verdicts(kept) == SHOWN
    errors = [one for cell in kept.cells for one in cell.get("outputs", ()) if "ename" in one]
    assert errors == []


def test_the_notebook_leads_to_a_green_04(course: Path, monkeypatch: pytest.MonkeyPatch):
    """From the first cell on as a learner runs it; the last kernel is the learner's to write."""
    monkeypatch.delenv("GRADER_COURSE", raising=False)
    opened = notebook.read()
    (own,) = (one for one in opened.cells if "NotImplementedError" in one.source)
    solution = ROOT / "solutions" / "04_online_softmax" / "kernel.py"
    own.source = f"%%kernel 04_online_softmax\n{solution.read_text(encoding='utf-8')}"
    opened.cells.insert(0, new_code_cell(warm.for_another_process()))
    notebook.run(opened, course)
    assert notebook.verdicts(opened) == [*SHOWN[:-1], "PASS"]


def test_the_stub_in_the_notebook_is_that_of_the_exercise():
    stub = (ROOT / "exercises" / "04_online_softmax" / "kernel.py").read_text(encoding="utf-8")
    assert any(stub.rstrip() in cell.source for cell in notebook.read().cells)


def test_the_notebook_writes_no_path_of_the_machine_that_ran_it():
    assert str(ROOT) not in notebook.NOTEBOOK.read_text(encoding="utf-8")
    assert not re.search(r"/(home|root|tmp|Users)/", notebook.NOTEBOOK.read_text(encoding="utf-8"))


def test_examples_of_the_api_print_what_the_page_says(
    course: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GRADER_COURSE", str(course))
    printed = []
    names: dict[str, object] = {"__name__": "example"}
    for body in blocks("api.md", "python"):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(body, "api.md", "exec"), names)
        printed.append(out.getvalue())
    assert printed == blocks("api.md", "text")


def test_examples_of_the_page_on_notebooks_pass(course: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GRADER_COURSE", str(course))
    shell = InteractiveShell()
    ran = [shell.run_cell(body) for body in blocks("notebook.md", "python")]
    assert all(one.success for one in ran)
    assert ran[1].result.passed
    assert shell.user_ns["checked"].passed

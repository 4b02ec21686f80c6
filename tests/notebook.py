"""Run docs/kernel_grader.ipynb, and keep its outputs.

    python tests/notebook.py

runs the notebook from the repository's course, and writes its outputs into it. Run it after a
change of an output's wording.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "docs" / "kernel_grader.ipynb"
SETUP = "setup"  # the tag of the cell that installs, which runs in no test
TIMEOUT_S = 300
VERDICT = re.compile(r"^(PASS|FAIL|NOT STARTED|CANNOT GRADE|GRADER ERROR)  ", re.MULTILINE)


def read(path: Path = NOTEBOOK) -> Any:
    return nbformat.read(path, as_version=4)


def run(notebook: Any, folder: Path) -> None:
    """Run the cells in a folder, but for the one that installs; their outputs go into them."""
    for cell in notebook.cells:
        if SETUP in cell.metadata.get("tags", []):
            cell.metadata["tags"] = [SETUP, "skip-execution"]
    client = NotebookClient(
        notebook, timeout=TIMEOUT_S, record_timing=False, resources={"metadata": {"path": folder}}
    )
    client.execute()


def verdicts(notebook: Any) -> list[str]:
    """List the verdicts that the outputs show, in their order."""
    return [found for cell in notebook.cells for found in VERDICT.findall(_shown(cell))]


def _shown(cell: Any) -> str:
    texts = (
        one.get("text") or one.get("data", {}).get("text/plain", "")
        for one in cell.get("outputs", ())
    )
    return "\n".join(texts)


def main() -> None:
    notebook = read()
    run(notebook, NOTEBOOK.parent)
    nbformat.write(notebook, NOTEBOOK)


if __name__ == "__main__":
    main()

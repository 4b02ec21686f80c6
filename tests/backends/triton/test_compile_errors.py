"""What a learner reads of a kernel that no compiler accepts: sentence, line and next step."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from beginners_mistakes import sources
from fake_device import simulated_gpu
from messages import text_of

from grader.backends.triton.compile_errors import root_cause
from grader.sandbox import failures
from grader.worker import faults
from grader.worker.load import load_entry

COMPILE = {  # although they look as if they would not
    *(
        "and of two vectors",
        "max of two vectors",
        "not of a vector",
        "list",
        "empty list",
        "unpack too many",
    ),
    *("return of a value", "assert on a value", "four axes"),
}


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[torch.Tensor]:
    with simulated_gpu(tmp_path_factory.mktemp("gpu")) as (_, _, memory):
        yield memory


def message(source: str, arena: torch.Tensor, folder: Path) -> str | None:
    """Return what a learner reads of this file, or None if its call comes to an end."""
    file = folder / "kernel.py"
    file.write_text(source)
    x = arena[:64].view(torch.float32)
    try:
        load_entry(file, "add", ["x", "out"])(x, x)
    except Exception as error:
        failure = failures.from_fault(faults.describe(root_cause(error), str(file)), "triton")
        line = failure.frames[-1]
        return f"{failure.kind}: {text_of(failure, folder)}\nline {line.line}: {line.code}"
    return None


@pytest.mark.filterwarnings("ignore:Logical operators", "ignore:builtin max")
@pytest.mark.slow
def test_messages(
    arena: torch.Tensor,
    tmp_path: Path,
    snapshot,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    # As in a worker: bytecode of the file before would serve one of the same size and second.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    texts = {}
    for name, source in sources().items():
        texts[name] = message(source, arena, tmp_path)
        # What MLIR prints of a kernel is no reading for learners.
        assert "tt.func" not in "".join(capfd.readouterr()), name
    assert {name for name, text in texts.items() if text is None} == COMPILE
    text = "\n\n".join(f"## {name}\n{text}" for name, text in texts.items() if text)
    text = re.sub(r"learner_kernel_\d+", "learner_kernel_N", text)  # of this process
    assert " object at 0x" not in text
    if importlib.metadata.version("triton") == "3.7.1":  # each version has words of its own
        assert text == snapshot

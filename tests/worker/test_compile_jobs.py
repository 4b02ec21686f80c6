"""The answer to one compilation: whose fault is it when it fails?"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from grader.worker.compile_jobs import Compiler, Refused, _answer

REFUSED = {"error": "in the compiler's words", "line": 3}


@pytest.mark.parametrize(
    ("raised", "answer"),
    [
        (Refused("we refuse it", 7), {"error": "we refuse it", "line": 7}),
        (RuntimeError("PassManager::run failed"), REFUSED),
        (ValueError("num_ctas > 1"), REFUSED),
        (OSError("no room"), {"fault": "OSError: no room"}),
        (AttributeError("no such name"), {"fault": "AttributeError: no such name"}),
        (
            subprocess.CalledProcessError(1, "nvdisasm"),
            {
                "fault": "CalledProcessError: Command 'nvdisasm' returned non-zero exit status 1.",
            },
        ),
    ],
    ids=["ours", "a pass", "an option", "the machine", "another version", "a tool"],
)
def test_only_a_compilers_errors_are_the_kernels_fault(
    tmp_path: Path, raised: Exception, answer: dict[str, Any]
) -> None:
    def build(path: Path, job: Mapping[str, Any]) -> dict[str, Any]:
        raise raised

    def diagnosed(log: Path, error: Exception, text: str) -> Refused:
        return Refused("in the compiler's words", 3)

    compiler = Compiler(
        load=lambda: None,
        missing=lambda: None,
        build=build,
        diagnosed=diagnosed,
        crashed=lambda log: Refused("it crashed"),
    )
    text = tmp_path / "0.text"
    text.write_text("kernel")
    assert _answer(compiler, text, {}, tmp_path / "0.errors") == answer

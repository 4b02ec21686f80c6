"""The hints of likely causes, word for word."""

from __future__ import annotations

import pytest
from cause_examples import hints, masks, rows
from syrupy.assertion import SnapshotAssertion

from grader.correctness.causes import explain

EXAMPLES = hints.EXAMPLES | masks.EXAMPLES | rows.EXAMPLES


@pytest.mark.parametrize("title", EXAMPLES)
def test_a_hint(title: str, snapshot: SnapshotAssertion) -> None:
    evidence = EXAMPLES[title].make()

    def broken(error: Exception) -> None:
        raise error

    found = explain(evidence, broken)
    assert found is not None
    message = found[1].message or evidence.failure.message
    assert f"{message}\n{found[1].hint}" == snapshot

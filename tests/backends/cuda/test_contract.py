"""The installed cuda.core has the names that the backend uses."""

from __future__ import annotations

from contracts import is_used, rows

from grader.backends.cuda import contract


@rows(contract.COMPILED, contract.DRY_RUN)
def test_a_name_is_there_and_used(touchpoint):
    assert touchpoint.misfit() is None
    assert is_used(touchpoint)

"""Detectors of causes that read what a simulated GPU recorded, on whole kernel files.

A worker runs each file in one case; no judge looks for one. `tests/cause_examples` has the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from cause_examples.kernel_files import KernelFile, kernel_files
from specs import with_spec

from grader.course import catalog
from grader.grading.options import Options
from grader.grading.session import Grading
from grader.grading.steps.correctness.causes import with_cause
from grader.grading.text_causes import with_cause_of_text
from grader.grading.trials import try_case
from grader.model import Case, Failure, Traced
from grader.sandbox.executor import Call
from grader.sandbox.fork_servers import ForkServers
from grader.sandbox.worker_link import WorkerLink

pytestmark = pytest.mark.slow

ANY = catalog.find(Path(__file__).parents[3], "01_vector_add")
FILES = {file.title: file for file in kernel_files()}


@pytest.fixture(scope="module")
def failure_of() -> Iterator[Callable[[KernelFile], Failure]]:
    with closing(ForkServers()) as servers:

        def failure_of(file: KernelFile) -> Failure:
            exercise = with_spec(ANY, file.spec)
            with closing(Grading(exercise, file.path, Options(seed=1), servers)) as grading:
                failure, case = first_failure(grading, file.case)
                named = with_cause(failure, grading, case)
                assert grading.tracebacks == []
                return with_cause_of_text(failure, grading) if named is failure else named

        yield failure_of


def first_failure(grading: Grading, case: Case) -> tuple[Failure, Case]:
    """Try a few draws: the highest number, say, may happen to lie where a wrong kernel looks."""
    for each in (replace(case, seed=case.seed + number) for number in range(4)):
        # A file that keeps something may be right at its first call.
        failure = try_case(grading, each) or try_case(grading, each)
        if failure is not None:
            return failure, each
    pytest.fail("the kernel is right")


@pytest.mark.parametrize("title", [title for title, file in FILES.items() if file.shows])
def test_a_kernel_that_shows_it(failure_of: Callable[[KernelFile], Failure], title: str) -> None:
    file = FILES[title]
    failure = failure_of(file)
    assert failure.cause == file.word
    assert not file.line or failure.frames[-1].line == file.line
    assert [part for part in file.says if part not in (failure.hint or "")] == []


@pytest.mark.parametrize("title", [title for title, file in FILES.items() if not file.shows])
def test_a_near_miss(failure_of: Callable[[KernelFile], Failure], title: str) -> None:
    file = FILES[title]
    failure = failure_of(file)
    if file.says:
        assert [part for part in file.says if part in (failure.hint or "")] == []
    else:
        assert failure.cause != file.word


def half_read_rows(traced: Traced) -> Traced:
    """Say that x is a table, of which the rows are unread whose elements of out are wrong."""
    arrays = tuple(replace(each, shape=(12, 2)) for each in traced.arrays)
    rows = tuple((*row[:5], row[5] % 6, *row[6:]) for row in traced.accesses)
    return replace(traced, arrays=arrays, accesses=rows)


def two_shapes(traced: Traced) -> Traced:
    """Say that there are two arrays of each name."""
    count = len(traced.arrays)
    arrays = (*traced.arrays, *(replace(each, shape=(3, 4)) for each in traced.arrays))
    rows = tuple((*row[:4], row[4] + count * (row[3] % 2), *row[5:]) for row in traced.accesses)
    return replace(traced, arrays=arrays, accesses=rows)


@pytest.mark.parametrize("lie", [half_read_rows, two_shapes])
def test_a_worker_that_names_another_shape_is_not_believed(
    failure_of: Callable[[KernelFile], Failure],
    monkeypatch: pytest.MonkeyPatch,
    lie: Callable[[Traced], Traced],
) -> None:
    honest = WorkerLink.trace

    def trace(link: WorkerLink, call: Call) -> tuple[Traced, Failure | None]:
        traced, failure = honest(link, call)
        return lie(traced), failure

    monkeypatch.setattr(WorkerLink, "trace", trace)
    assert failure_of(FILES["never_read/near_all_is_read"]).cause is None

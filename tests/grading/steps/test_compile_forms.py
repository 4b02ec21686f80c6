"""A benchmark chooses among forms of a kernel, on a GPU without those that it cannot run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from grader.course import catalog
from grader.grading import compiling
from grader.grading.compiling import Built, Code, Job, Refusal, TooLong
from grader.grading.options import Options
from grader.grading.session import Grading
from grader.grading.step import Finding
from grader.grading.steps.compile import findings
from grader.model.outcomes import Outcome
from grader.model.specialisations import BuildOptions, Specialisation
from grader.sandbox.fork_servers import ForkServers

ROOT = Path(__file__).parents[3]
ADD = catalog.find(ROOT, "01_vector_add")
CODE = Code(
    registers=32, spills=0, shared=0, tensor=0, threads=128, loads=((128, 1),), stores=((128, 1),)
)
LARGE = Refusal("too much shared memory", 3)

Judge = Callable[..., Finding]


def form(warps: int, *, trial: bool, kernel: str = "add") -> Specialisation:
    return Specialisation(kernel, f"{warps}", BuildOptions(num_warps=warps), trial)


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Have the step judge what became of some forms of kernels on the required GPU."""

    def judged(*made: tuple[Specialisation, Built]) -> Finding:
        every = [Job("float32", kernel, 90, True) for kernel, _ in made]
        monkeypatch.setattr(findings, "jobs", lambda _: every)
        monkeypatch.setattr(findings, "build", lambda _: [built for _, built in made])
        return findings.compiled(Grading(ADD, ADD.solution, Options(seed=1), ForkServers()))

    return judged


def test_one_form_that_compiles_is_enough_for_a_benchmark(judge: Judge):
    tried, other = form(4, trial=True), form(8, trial=True)
    assert judge((tried, LARGE), (other, CODE)).outcome is Outcome.PASS
    assert judge((tried, CODE), (other, LARGE)).outcome is Outcome.PASS


def test_a_benchmark_of_forms_that_are_all_refused_fails(judge: Judge):
    finding = judge((form(4, trial=True), LARGE), (form(8, trial=True), LARGE))
    assert finding.outcome is Outcome.FAIL


def test_each_form_that_a_file_chose_itself_must_compile(judge: Judge):
    finding = judge((form(4, trial=False), CODE), (form(8, trial=False), LARGE))
    assert finding.outcome is Outcome.FAIL


def test_a_benchmark_does_not_stand_for_a_form_that_the_file_chose_itself(judge: Judge):
    tried, own = form(4, trial=True), form(8, trial=False)
    assert judge((tried, CODE), (own, LARGE)).outcome is Outcome.FAIL
    assert judge((tried, LARGE), (own, CODE)).outcome is Outcome.FAIL
    assert judge((tried, CODE), (own, CODE)).outcome is Outcome.PASS


def test_a_form_of_one_kernel_does_not_stand_for_another_kernel(judge: Judge):
    other = form(8, trial=True, kernel="other")
    assert judge((form(4, trial=True), LARGE), (other, CODE)).outcome is Outcome.FAIL


def test_other_gpus_get_one_form_of_those_that_were_tried(monkeypatch: pytest.MonkeyPatch):
    kernels = (form(4, trial=True), form(8, trial=True), form(1, trial=False, kernel="other"))
    monkeypatch.setattr(compiling, "launched", lambda _: {"float32": kernels})
    grading = Grading(ADD, ADD.solution, Options(seed=1, targets=(75,)), ForkServers())
    every = findings.jobs(grading)
    assert [job.kernel for job in every if job.required] == list(kernels)
    assert [job.kernel for job in every if job.target == 75] == [kernels[0], kernels[2]]


@pytest.fixture
def tuned() -> Iterator[Grading]:
    """A grading of a file whose tuner tries several forms, and chooses the first in simulation."""
    file = ROOT / "tests" / "redteam" / "honest" / "01_vector_add" / "autotuned.py"
    fork_servers = ForkServers()
    grading = Grading(ADD, file, Options(seed=1), fork_servers)
    try:
        yield grading
    finally:
        grading.close()
        fork_servers.close()


@pytest.mark.slow
def test_forms_that_a_file_s_tuner_tries_are_known_as_such(tuned: Grading):
    forms = compiling.launched(tuned)["float32"]
    assert len(forms) > 1
    assert all(form.trial for form in forms)


@pytest.mark.slow
@pytest.mark.parametrize(("fitting", "outcome"), [(8, Outcome.PASS), (16, Outcome.FAIL)])
def test_a_choice_of_an_earlier_call_stands_for_all_forms(
    tuned: Grading, monkeypatch: pytest.MonkeyPatch, fitting: int, outcome: Outcome
):
    """The GPU of this test refuses the chosen form, of 4 warps, and all of less than `fitting`."""
    seen: list[set[int]] = []

    def built(backend: str, every: Sequence[Job], waiting: object) -> list[Built]:
        warps = [job.kernel.options.num_warps for job in every]
        seen.append(set(warps))
        return [CODE if number >= fitting else LARGE for number in warps]

    monkeypatch.setattr(compiling, "build", built)
    compiling.launched(tuned)
    assert findings.compiled(tuned).outcome is outcome
    assert seen == [{4}, {4, 8}]


def test_a_form_that_takes_too_long_is_not_asked_for_again(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Grading, "forget", None)
    finding = judge((form(4, trial=False), TooLong(120.0)))
    assert finding.outcome is Outcome.FAIL

"""The step instructions: what it counts by, what it fails, and what it does not count."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from one_step import one_step

from grader.course import catalog
from grader.grading import compiling
from grader.grading.compiling import Code, Missing, Refusal, TooLong, Untried
from grader.grading.options import Options
from grader.grading.plan import steps_of
from grader.grading.session import Grading
from grader.grading.step import Finding
from grader.grading.steps.instructions import STEP, rates
from grader.model.instructions import Instructions
from grader.model.outcomes import Outcome
from grader.model.specialisations import BuildOptions, Specialisation
from grader.sandbox.fork_servers import ForkServers

ROOT = Path(__file__).parents[3]
GPTOSS = catalog.find(ROOT, "08_gptoss_swiglu")
OWN = GPTOSS.spec.instructions
HONEST = ROOT / "tests" / "redteam" / "honest" / GPTOSS.name
KERNEL = Specialisation("gate", "a text", BuildOptions())
# Of a bfloat16 kernel whose threads store eight elements, by one store of 128 bits.
CODE = Code(
    registers=32,
    spills=0,
    shared=0,
    tensor=0,
    threads=128,
    loads=((128, 2),),
    stores=((128, 1),),
    arithmetic=160,
)


@pytest.fixture
def grading(fork_servers: ForkServers) -> Iterator[Grading]:
    """A grading of the solution, of which nothing has run."""
    made = Grading(GPTOSS, GPTOSS.solution, Options(seed=1), fork_servers)
    yield made
    made.close()


def judged(
    grading: Grading, monkeypatch: pytest.MonkeyPatch, *built: compiling.Built, trial: bool = False
) -> Finding:
    """Have the step judge these results of compiling so many forms of one kernel."""
    forms = tuple(replace(KERNEL, text=f"{n}", trial=trial) for n in range(len(built)))
    monkeypatch.setattr(compiling, "launched", lambda _: {"bfloat16": forms})
    monkeypatch.setattr(compiling, "build", lambda backend, jobs: list(built))
    return rates.instructions(grading)


def test_arithmetic_is_divided_by_the_elements_of_a_thread(
    grading: Grading, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = judged(grading, monkeypatch, CODE)
    assert (finding.outcome, finding.summary) == (
        Outcome.PASS,
        "sm_90: 20 instructions of arithmetic an element (bfloat16), at most 24",
    )
    narrow = replace(CODE, stores=((16, 3), (32, 1)), arithmetic=101)  # five elements
    assert "20.2 instructions" in judged(grading, monkeypatch, narrow).summary


def test_the_worst_kernel_counts(grading: Grading, monkeypatch: pytest.MonkeyPatch) -> None:
    at_the_limit, over = replace(CODE, arithmetic=192), replace(CODE, arithmetic=193)
    assert judged(grading, monkeypatch, CODE, at_the_limit).outcome is Outcome.PASS
    finding = judged(grading, monkeypatch, CODE, over, at_the_limit)
    assert (finding.outcome, finding.failure.kind) == (Outcome.FAIL, "instructions")
    assert (finding.failure.got, finding.failure.expected) == ("24.1", "at most 24")


def test_of_the_forms_of_a_tuner_the_best_counts(
    grading: Grading, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = replace(CODE, arithmetic=193)
    assert judged(grading, monkeypatch, over, CODE, trial=True).outcome is Outcome.PASS
    refused = Refusal("too large", None)
    assert judged(grading, monkeypatch, refused, CODE, trial=True).outcome is Outcome.PASS
    assert judged(grading, monkeypatch, over, refused, trial=True).outcome is Outcome.FAIL


@pytest.mark.parametrize(
    ("built", "reason"),
    [
        (replace(CODE, arithmetic=None), "code for sm_90 is not decoded"),
        (replace(CODE, stores=()), "it has no plain store, by which elements are counted"),
        (Refusal("too large", 3), "it does not compile for sm_90: too large"),
        (Missing("ptxas"), "ptxas is missing"),
        (TooLong(120.0), "it did not compile within 120 s"),
        (Untried(), "not tried: other compilations took too long"),
    ],
)
def test_what_cannot_be_counted_is_skipped_with_a_reason(
    grading: Grading, monkeypatch: pytest.MonkeyPatch, built: compiling.Built, reason: str
) -> None:
    """Another kernel that is within the limit passes nothing; one that is over it fails."""
    finding = judged(grading, monkeypatch, CODE, built)
    assert (finding.outcome, finding.summary) == (
        Outcome.SKIP,
        f"not counted: gate for bfloat16: {reason}",
    )
    finding = judged(grading, monkeypatch, built, replace(CODE, arithmetic=193))
    assert finding.outcome is Outcome.FAIL


def test_code_is_counted_for_one_gpu_on_each_machine(
    grading: Grading, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def build(backend: str, jobs: list[compiling.Job]) -> list[compiling.Built]:
        asked.extend(job.target for job in jobs)
        return [CODE for _ in jobs]

    monkeypatch.setattr(compiling, "launched", lambda _: {"bfloat16": (KERNEL,)})
    monkeypatch.setattr(compiling, "build", build)
    rates.instructions(grading)
    grading.__dict__["spec"] = replace(GPTOSS.spec, targets=(80, 90))
    assert "sm_80" in rates.instructions(grading).summary
    assert asked == [90, 80]


def test_a_spec_without_a_limit_has_no_such_step() -> None:
    names = [step.name for step in steps_of(GPTOSS.spec)]
    assert names[-3:] == ["compile", "instructions", "speed"]
    without = replace(GPTOSS.spec, instructions=None)
    assert "instructions" not in [step.name for step in steps_of(without)]
    assert STEP.asks(GPTOSS.spec) == (
        "at most 24 instructions of arithmetic for each element that is stored, for sm_90; the "
        "best known is 9.25"
    )


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"instructions": Instructions(most=1, best=2, hint="")}, "0 < best <= most"),
        (
            {
                "arguments": tuple(
                    replace(a, like=None, shape=(1,), dtype="float32") if a.filled else a
                    for a in GPTOSS.spec.arguments
                )
            },
            "every output needs `like`",
        ),
    ],
)
def test_a_limit_that_means_nothing_is_refused(changes: dict[str, object], fault: str) -> None:
    with pytest.raises(ValueError, match=re.escape(fault)):
        replace(GPTOSS.spec, **changes)


# -- the exercise that has it


def lesson_counts() -> dict[str, float]:
    text = (GPTOSS.folder / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| (\d+\.\d) \|$", text, re.MULTILINE)
    return {name: float(count) for name, count in rows}


# In the lesson's words, the file that has such a gate, and whether it passes.
FORMS = {
    "x / (1 + exp(−z)), by `tl.exp`": (HONEST / "exponential_of_triton.py", True),
    "x · `tl.sigmoid(z)`": (HONEST / "sigmoid_of_triton.py", True),
    "the tanh identity, by the tanh of libdevice": (
        ROOT / "solutions" / GPTOSS.name / "wrong_accurate_tangent.py",
        False,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_the_lesson_s_counts_are_those_of_the_compiler(
    form: str, fork_servers: ForkServers
) -> None:
    file, passes = FORMS[form]
    step = one_step("instructions", GPTOSS, file, fork_servers, device="cpu")
    assert f"{lesson_counts()[form]:g} instructions" in step.summary
    assert step.outcome is (Outcome.PASS if passes else Outcome.FAIL)
    assert [*lesson_counts()] == [*FORMS]


@pytest.mark.slow
def test_the_best_known_is_a_file_s(fork_servers: ForkServers) -> None:
    best = one_step(
        "instructions", GPTOSS, HONEST / "quick_division.py", fork_servers, device="cpu"
    )
    assert OWN is not None
    assert f"sm_90: {OWN.best:.1f} instructions" in best.summary

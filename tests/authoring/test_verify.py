"""`grader verify`: what it says about an exercise that does not judge as it should."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

import pytest
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.authoring import trials, verify
from grader.authoring.verify import Verified
from grader.course.exercise import Exercise
from grader.grading.kinds.kernel import NO_WORK
from grader.model.errors import BrokenExercise, CannotGrade, GraderError
from grader.model.outcomes import Outcome, Status
from grader.model.results import Failure, Result, parse_result

pytestmark = pytest.mark.slow

PASSED = parse_result((Path(__file__).parents[1] / "courses" / "result.json").read_bytes())

SPEC = """
from grader.spec import Case, Gates, Scored, Spec, Tolerance, reads, writes

SPEC = Spec(
    title="Twice",
    summary="Twice a vector.",
    backend="triton",
    entry="twice",
    arguments=(reads("x"), writes("out", like="x")),
    dtypes=("float32",),
    draws=("rows",),
    edges=(Case((1,), "float32"), Case((300,), "float32")),
    largest=(300,),
    most_elements=300,
    inputs=lambda case, draw: {"x": draw.tensor(case.shape)},
    reference=lambda inputs: {"out": 2 * inputs["x"]},
    tolerance=Tolerance(terms=lambda case: 1),
    counted=Case((1000,), "float32"),
    scored=Scored(dtype="float32"),
    gates=Gates(passing=0.5, great=0.9),
    memory_budget=lambda case: 2**40,
    hints=("one", "two", "three"),
    kernels=False,
)
"""
TESTS = '''
from hypothesis import given
from grader.testing import assert_within, cases_of

cases = cases_of(__file__)


@given(case=cases)
def test_twice_17_is_34(kernel, case):
    """Twice 17 is 34."""
    inputs = kernel.inputs(case)
    inputs["x"].fill_(17.0)
    assert_within(kernel.run(inputs)["out"], 34.0, 0.0, "twice 17")
'''
SOLUTION = """
def twice(x, out):
    # BEGIN SOLUTION
    out.copy_(2 * x)
    # END SOLUTION
"""
# Kernels that say where they must be rejected, and whether that is what becomes of them.
WRONG = {
    "wrong_at_correctness": ("correctness", "out.copy_(3 * x)"),
    "wrong_at_properties": ("properties", "out.copy_(2 * x)\n    out[x == 17] = 0"),
    "wrong_at_load": ("load", "out.copy_(2 * x)\n\n\nimport no_such_module"),
    "wrong_but_right": ("correctness", "out.copy_(2 * x)"),
    "wrong_elsewhere": ("properties", "out.copy_(3 * x)"),
}


def exercise(
    root: Path, name: str = "01_twice", *, spec: str = SPEC, solution: str = SOLUTION
) -> Exercise:
    made = Exercise(root / "exercises" / name)
    made.folder.mkdir(parents=True)
    made.answers.mkdir(parents=True)
    (made.folder / "spec.py").write_text(spec)
    made.tests.write_text(TESTS)
    made.solution.write_text(solution)
    return made


# As right, with two mutants and not five, for exercises whose mutants are not what tests look at.
SHORT = SOLUTION.replace("out.copy_(2 * x)", "out.copy_(x).mul_(2)")

DECLARED = '[[equivalent]]\noperator = "change_constant"\nreason = "it is not"\n'
EACH_MUTANT = trials.Sample(count=None)  # tests below name some of them by their changes


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Verified]]:
    """One real run over a sound exercise, and over others of which each has another fault."""
    root = tmp_path_factory.mktemp("course")
    twice = exercise(root)
    for name, (step, body) in WRONG.items():
        docstring = f'"""Not what it should be.\n\nRejected at: {step}\n"""\n'
        kernel = f"{docstring}\n\ndef twice(x, out):\n    {body}\n"
        (twice.answers / f"{name}.py").write_text(kernel)
    idle = exercise(root, "02_idle", solution=SOLUTION.replace("2 * x", "2 * x + 0"))
    idle.survivors.write_text(f'{DECLARED}after = "out.copy_(3 * x + 0)"\n')
    magnitude = "terms=lambda case: 1, magnitude=lambda i, e: {'out': e['out'].abs() + 1e9}"
    accepting = SPEC.replace("terms=lambda case: 1", magnitude)
    loose = exercise(root, "03_loose", spec=accepting, solution=SHORT)
    nothing = SPEC.replace("draw.tensor(case.shape)", "draw.tensor(case.shape) * 0")
    blind = exercise(root, "04_blind", spec=nothing, solution=SHORT)
    said: list[str] = []
    everything = verify.run([twice, idle, loose, blind], "cpu", said.append, EACH_MUTANT)
    # One line for each, numbered in the order of lines, although judges work beside each other.
    first, *lines = said
    assert first.startswith(f"verifying with {len(everything)} kernels of 4 exercises, ")
    told = [re.fullmatch(r"(\d+) of (\d+): (\d\d_\w+) (.+)", line) for line in lines]
    assert [line[1] for line in told] == [str(n + 1) for n in range(len(everything))]
    assert {line[2] for line in told} == {str(len(everything))}
    tried = sorted((one.exercise, one.kernel) for one in everything)
    assert sorted((line[3], line[4]) for line in told) == tried
    return {name: list(some) for name, some in groupby(everything, key=lambda one: one.exercise)}


@pytest.fixture(scope="module")
def verified(found: dict[str, list[Verified]]) -> dict[str, Verified]:
    """The sound exercise's, of which two wrong kernels claim what is not so."""
    return {v.kernel: v for v in found["01_twice"]}


def test_results_keep_the_order_of_the_exercises(
    found: dict[str, list[Verified]],
):
    assert list(found) == ["01_twice", "02_idle", "03_loose", "04_blind"]


def test_all_trials_of_an_exercise_run_in_order(verified: dict[str, Verified]):
    mutants = [v.kernel for v in verified.values() if v.kind == "mutant"]
    assert list(verified) == ["stub", "solution", *sorted(WRONG), *NO_WORK, *mutants]
    assert [v.kind for v in verified.values()] == (
        ["stub", "solution"]
        + ["wrong"] * len(WRONG)
        + ["no_work"] * len(NO_WORK)
        + ["mutant"] * len(mutants)
    )
    assert len(mutants) == 5  # of `out.copy_(2 * x)`: 2 / x, 2, x, 3 * x, and no copy at all
    assert {v.exercise for v in verified.values()} == {"01_twice"}


@pytest.mark.parametrize(
    ("kernel", "became"),
    [
        ("stub", "not_started"),
        ("solution", "pass"),
        ("wrong_at_correctness", "correctness"),
        ("wrong_at_properties", "properties"),
        ("wrong_at_load", "load"),
        *((answer, "correctness") for answer in NO_WORK),
    ],
)
def test_expected_results_are_ok(verified: dict[str, Verified], kernel: str, became: str):
    found = verified[kernel]
    assert (found.actual, found.expected, found.ok) == (became, became, True), found.detail


def test_a_wrong_kernel_that_passes_is_reported(verified: dict[str, Verified]):
    found = verified["wrong_but_right"]
    assert (found.expected, found.actual, found.ok) == ("correctness", "pass", False)
    assert found.result.status is Status.PASS


def test_a_wrong_kernel_that_is_rejected_elsewhere_is_reported(verified: dict[str, Verified]):
    found = verified["wrong_elsewhere"]
    assert (found.expected, found.actual, found.ok) == ("properties", "correctness", False)
    assert found.detail == "1 element of float32: out[0] is wrong"


def test_a_rejected_kernel_has_the_reason(verified: dict[str, Verified]):
    assert verified["wrong_at_properties"].detail.startswith(
        "1 element of float32: Twice 17 is 34."
    )
    assert "no_such_module" in verified["wrong_at_load"].detail
    assert verified["untouched"].detail == "rejected by each of the 3 cases that can tell, of 3"


# -- mutants and answers that are no work, for real


def by_kind(found: list[Verified], kind: str) -> list[Verified]:
    return [one for one in found if one.kind == kind]


def test_a_mutant_that_survives_is_shown_with_advice(found: dict[str, list[Verified]]):
    mutants = by_kind(found["02_idle"], "mutant")
    survivors = [one for one in mutants if not one.ok]
    assert "kernel.py, line 4\n- out.copy_(2 * x + 0)\n+ out.copy_((2 * x))" in [
        one.change for one in survivors
    ]
    assert {(one.expected, one.actual) for one in survivors} == {("rejected", "pass")}
    assert {one.advice for one in survivors} == {
        "Add an edge to spec.py that distinguishes it from the solution, or declare it in "
        "survivors.toml with the reason why nothing can."
    }
    assert len(mutants) - len(survivors) >= 3


def test_a_declared_mutant_that_is_rejected_is_reported(found: dict[str, list[Verified]]):
    (one,) = by_kind(found["02_idle"], "equivalent")
    assert (one.ok, one.expected, one.actual) == (False, "pass", "correctness")
    assert one.advice.endswith("but a test rejects it: remove the declaration.")


def test_a_declaration_that_fits_no_mutant_cannot_be_verified(
    tmp_path: Path, snapshot: SnapshotAssertion
):
    twice = exercise(tmp_path)
    twice.survivors.write_text(DECLARED.replace("change_constant", "drop_mask"))
    with pytest.raises(BrokenExercise) as caught:
        verify.run([twice], "cpu", print, trials.Sample(count=0))
    assert text_of(caught.value, tmp_path) == snapshot


def test_a_spec_in_which_one_case_accepts_zeros_is_refused(found: dict[str, list[Verified]]):
    no_work = {one.kernel: one for one in by_kind(found["03_loose"], "no_work")}
    assert (no_work["zeros"].ok, no_work["zeros"].actual) == (False, "properties")
    assert no_work["zeros"].detail == (
        "this answer passes 3 cases that can tell it: 1 element of float32 (out), "
        "300 elements of float32 (out), 1,000 elements of float32 (out)"
    )
    assert no_work["zeros"].advice.startswith(
        "Give each case inputs for which this output is wrong"
    )
    assert no_work["nan"].ok


def test_a_spec_whose_cases_reject_nothing_is_refused(found: dict[str, list[Verified]]):
    no_work = {one.kernel: one for one in by_kind(found["04_blind"], "no_work")}
    assert not no_work["zeros"].ok
    assert no_work["zeros"].detail == "in no case is this answer wrong for out"


# -- the decisions alone


def judged(result: Result, expected: str) -> Verified:
    request = verify.check.Request(Exercise(Path("exercises/01_twice")), Path("wrong_x.py"))
    return verify._judged(trials.Trial("wrong", "wrong_x", expected, request), result)


def result(status: Status, *outcomes: Outcome) -> Result:
    steps = tuple(
        step.model_copy(update={"outcome": outcome, "failure": None})
        for step, outcome in zip(PASSED.steps, outcomes, strict=False)
    )
    return PASSED.model_copy(update={"status": status, "steps": steps})


P, F, S, N = Outcome.PASS, Outcome.FAIL, Outcome.SKIP, Outcome.NOT_RUN


@pytest.mark.parametrize(
    ("kind", "failure", "ok"),
    [
        ("slower", "timeout", True),
        ("slower", "value", False),
        ("equivalent", "timeout", False),
        ("wrong", "timeout", False),
    ],
)
def test_a_mutant_that_only_does_more_may_meet_a_time_limit(kind: str, failure: str, ok: bool):
    """A busy machine ends what a quiet one lets pass: neither is news."""
    late = result(Status.FAIL, P, F, N, N, N, N)
    steps = [
        step.model_copy(update={"failure": Failure(kind=failure, message="x")})
        if step.outcome is F
        else step
        for step in late.steps
    ]
    request = verify.check.Request(Exercise(Path("exercises/01_twice")), Path("wrong_x.py"))
    trial = trials.Trial(kind, "mutant 16", "pass", request)
    found = late.model_copy(update={"steps": tuple(steps)})
    assert verify._took_too_long(trial, found) is ok


@pytest.mark.parametrize(
    ("found", "actual"),
    [
        (result(Status.PASS, P, P, P, P, P, S), "pass"),
        (result(Status.NOT_STARTED, P, Outcome.NOT_STARTED, N, N, N, N), "not_started"),
        (result(Status.FAIL, F, N, N, N, N, N), "load"),
        (result(Status.FAIL, P, F, N, N, N, N), "correctness"),
        (result(Status.FAIL, P, P, F, N, N, N), "properties"),
        (result(Status.FAIL, P, P, P, F, N, N), "traffic"),
        (result(Status.FAIL, P, P, P, P, F, N), "memory"),
        (result(Status.FAIL, P, P, P, P, P, F), "speed"),
        (result(Status.ERROR, P, Outcome.ERROR, N, N, N, N), "error"),
        (result(Status.CANNOT_GRADE, P, P, P, P, P, Outcome.CANNOT_GRADE), "cannot_grade"),
        (result(Status.UNFINISHED, P), "unfinished"),
        (result(Status.INTERRUPTED), "interrupted"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_result_in_one_word(found: Result, actual: str):
    for expected in (actual, "something else"):
        one = judged(found, expected)
        assert (one.actual, one.ok) == (actual, expected == actual)


def test_an_error_of_the_grader_is_never_the_rejection_that_was_expected():
    broken = result(Status.ERROR, P, Outcome.ERROR, N, N, N)
    for step in (
        "load",
        "correctness",
        "properties",
        "traffic",
        "counts",
        "memory",
        "compile",
        "speed",
    ):
        assert not judged(broken, step).ok


def test_a_solution_that_fails_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    twice = exercise(tmp_path)
    failed = result(Status.FAIL, P, F, N, N, N)
    monkeypatch.setattr(verify.check, "run", lambda requests, *_: [failed] * len(requests))
    found = {v.kernel: v for v in verify.run([twice], "cpu", print)}
    assert (found["solution"].ok, found["solution"].actual) == (False, "correctness")
    assert (found["stub"].ok, found["stub"].actual) == (False, "correctness")
    assert found["zeros"].ok


def test_kernels_that_only_a_simulator_shows_to_be_wrong_are_simulated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    twice = exercise(tmp_path)
    for name, line in [("wrong_a", ""), ("wrong_b", "On a GPU: may pass by luck, it is a race.\n")]:
        text = f'"""Wrong.\n\nRejected at: correctness\n{line}"""\n'
        (twice.answers / f"{name}.py").write_text(text)
    asked = {}

    def note(requests: list[verify.check.Request], *_: object) -> list[Result]:
        asked.update({request.kernel.stem: request for request in requests})
        return [PASSED] * len(requests)

    monkeypatch.setattr(verify.check, "run", note)
    monkeypatch.setattr(verify.nvml, "least_memory", lambda: 80 << 30)
    verify.run([twice], "cuda", print)
    assert (asked["wrong_a"].options.device, asked["wrong_b"].options.device) == ("cuda", "cpu")
    assert not asked["wrong_a"].options.shrink


def test_on_a_gpu_what_measures_runs_alone_and_what_surprises_runs_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    twice = exercise(tmp_path)
    for name, step in {
        "wrong_a": "correctness",
        "wrong_b": "correctness",
        "wrong_c": "memory",
    }.items():
        text = f'"""Wrong.\n\nRejected at: {step}\n"""\n'
        (twice.answers / f"{name}.py").write_text(text)
    late, early = result(Status.FAIL, P, P, P, P, F), result(Status.FAIL, P, F, N, N, N)
    asked: dict[str, list[tuple[str, ...]]] = {}

    def answer(request: verify.check.Request) -> Result:
        name, left_out = request.kernel.stem, request.options.leave_out
        asked.setdefault(name, []).append(left_out)
        if name == "wrong_c":
            return PASSED if "memory" in left_out else late
        # Only a busy GPU lets b pass its first step.
        return {"wrong_a": early, "wrong_b": early if len(asked[name]) > 1 else late}.get(
            name, late
        )

    monkeypatch.setattr(verify.check, "run", lambda requests, *_: [answer(r) for r in requests])
    monkeypatch.setattr(verify.nvml, "least_memory", lambda: 80 << 30)
    found = {one.kernel: one for one in verify.run([twice], "cuda", print)}
    measuring = ("traffic", "memory", "speed")
    assert asked["wrong_a"] == [measuring]
    assert asked["wrong_b"] == [measuring, ()]
    assert asked["wrong_c"] == [measuring, ("correctness", "properties", "compile")]
    assert found["wrong_b"].ok


@pytest.mark.parametrize("alone", [True, False], ids=["beside others", "always"])
def test_on_a_gpu_only_what_breaks_alone_breaks_an_exercise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alone: bool
):
    """As for want of memory, of which others beside it hold a part."""
    twice = exercise(tmp_path)

    def answer(requests: list[verify.check.Request], *_: object) -> list[Result]:
        if not alone or any(request.options.leave_out for request in requests):
            raise CannotGrade("The GPU's memory is taken.", "Wait.")
        return [PASSED] * len(requests)

    monkeypatch.setattr(verify.check, "run", answer)
    monkeypatch.setattr(verify.nvml, "least_memory", lambda: 80 << 30)
    told: list[str] = []
    broken: list[str] = []
    found = verify.run(
        [twice], "cuda", told.append, trials.FEW, lambda one, error: broken.append(one.name)
    )
    assert (bool(found), broken) == ((True, []) if alone else (False, [twice.name]))
    why = f"{twice.name}: some kernels again, one at a time: The GPU's memory is taken."
    assert why in told


def test_what_runs_again_alone_is_reported_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """13_rmsnorm on an H100: minutes without a word, in which kernels ran again."""
    twice = exercise(tmp_path)
    monkeypatch.setattr(verify.check, "run", lambda requests, *_: [PASSED] * len(requests))
    monkeypatch.setattr(verify.nvml, "least_memory", lambda: 80 << 30)
    told: list[str] = []
    verify.run([twice], "cuda", told.append)
    name = f"{twice.name} stub"
    assert f"{name} again, alone: pass came, and not_started was expected" in told
    assert not any(line.startswith(f"{twice.name} solution again") for line in told)


@pytest.mark.parametrize(
    ("memory", "cores", "at_once"),
    [(None, 64, 1), (2 << 30, 64, 1), (16 << 30, 64, 4), (80 << 30, 64, 20), (80 << 30, 2, 2)],
)
def test_checks_beside_each_other_fit_the_gpu(
    monkeypatch: pytest.MonkeyPatch, memory: int | None, cores: int, at_once: int
):
    monkeypatch.setattr(verify.nvml, "least_memory", lambda: memory)
    monkeypatch.setattr(verify, "_cores", lambda: cores)
    assert verify._checks_at_once() == at_once


@pytest.mark.parametrize(("sample", "tried"), [(trials.Sample(99), 0), (trials.Sample(None), 1)])
def test_mutants_that_are_declared_slower_run_only_with_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: trials.Sample, tried: int
):
    twice = exercise(tmp_path)
    twice.survivors.write_text(DECLARED.replace("equivalent", "slower"))
    monkeypatch.setattr(verify.check, "run", lambda requests, *_: [PASSED] * len(requests))
    found = verify.run([twice], "cpu", print, sample)
    assert len(by_kind(found, "slower")) == tried
    assert len(by_kind(found, "mutant")) > 0


def test_an_exercise_without_a_solution_cannot_be_verified(
    tmp_path: Path, snapshot: SnapshotAssertion
):
    twice = exercise(tmp_path)
    twice.solution.unlink()
    with pytest.raises(BrokenExercise) as caught:
        verify.run([twice], "cpu", print)
    assert text_of(caught.value, tmp_path) == snapshot


def test_a_wrong_kernel_that_names_no_step_cannot_be_verified(
    tmp_path: Path, snapshot: SnapshotAssertion
):
    twice = exercise(tmp_path)
    (twice.answers / "wrong_x.py").write_text('"""Wrong."""\n')
    with pytest.raises(BrokenExercise) as caught:
        verify.run([twice], "cpu", print)
    assert text_of(caught.value, tmp_path) == snapshot


@pytest.mark.parametrize("name", ["kernel.py", "wrong_x.py"])
def test_a_file_that_is_no_text_cannot_be_verified(tmp_path: Path, name: str):
    twice = exercise(tmp_path)
    (twice.answers / name).write_bytes(b'"""\xff"""')
    with pytest.raises(BrokenExercise, match=f"{name} cannot be read: 'utf-8' codec"):
        verify.run([twice], "cpu", print)


def test_one_exercise_that_is_broken_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Neither one whose stub cannot be made, nor one at which the judge breaks."""
    unmarked = exercise(tmp_path, "01_unmarked", solution="def twice(x, out):\n    pass\n")
    good, breaks = exercise(tmp_path, "02_twice"), exercise(tmp_path, "03_breaks")

    def run(requests: list[verify.check.Request], *more: object) -> list[Result]:
        results = []
        for request in requests:
            if request.exercise == breaks:
                raise GraderError("The judge ended.")
            results.append(PASSED)
            more[1](PASSED)
        return results

    monkeypatch.setattr(verify.check, "run", run)
    told: dict[str, str] = {}
    said: list[str] = []

    def broken(one: Exercise, error: GraderError) -> None:
        told[one.name] = error.message

    found = verify.run([unmarked, good, breaks], "cpu", said.append, trials.FEW, broken)
    assert {one.exercise for one in found} == {"02_twice"}
    assert [one.kernel for one in found][:2] == ["stub", "solution"]
    assert told == {
        "01_unmarked": f"{unmarked.solution} marks no part as the solution: its stub would be the "
        "whole solution.",
        "03_breaks": "The judge ended.",
    }
    assert " of 2 exercises, " in said[0]
    assert len(said) - 1 == len({line.partition(": ")[2] for line in said[1:]}) == len(found)

"""The pytest plugin: a `spec.py` becomes the built-in steps, and tests get the fixture `kernel`.

`pytest exercises/04_online_softmax` works by itself; `grader check` starts the same in a judge of
its own. Heavy modules are imported only when an exercise is collected, because pytest loads
this plugin wherever kernel-grader is installed.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from grader.course import Exercise
from grader.model import GraderError, Outcome

if TYPE_CHECKING:
    from grader.grading.options import Options
    from grader.grading.session import Grading
    from grader.grading.step import Step
    from grader.model import Failure
    from grader.sandbox import ForkServers, RemoteKernel

GRADINGS = pytest.StashKey["Gradings"]()
NOT_RUN = pytest.StashKey[bool]()  # of a test: the check leaves it out, or a step before failed


class Gradings:
    """The gradings of one run of pytest: one for each entry of each exercise that it collects.

    `kernel` names the file to grade instead of the exercise's own kernel.py. With `entry`, only
    this one of several is graded. The fork servers are closed at the end, unless they are `shared`
    with the next kernel.
    """

    def __init__(
        self,
        fork_servers: ForkServers,
        options: Options,
        kernel: Path | None,
        *,
        shared: bool,
        entry: str | None = None,
    ) -> None:
        self.fork_servers, self.options, self.kernel = fork_servers, options, kernel
        self.shared, self.entry = shared, entry
        self._by_folder: dict[Path, dict[str | None, Grading]] = {}

    def of(self, folder: Path) -> Mapping[str | None, Grading]:
        """Return the gradings of a folder, keyed by entry; by None if the file has only one."""
        from grader.grading.session import Grading

        if folder not in self._by_folder:
            kernel = self.kernel or Exercise(folder).kernel
            self._by_folder[folder] = {
                part.entry: Grading(part, kernel, self.options, self.fork_servers)
                for part in Exercise(folder, self.entry).parts
            }
        return self._by_folder[folder]

    def all(self) -> list[Grading]:
        return [one for gradings in self._by_folder.values() for one in gradings.values()]

    def begin(self, grading: Grading) -> None:
        """End the workers of all others, so that no call of one entry helps another's."""
        for other in self.all():
            if other is not grading:
                other.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("grader", "kernel-grader")
    group.addoption("--kernel", help="grade this kernel file instead of the exercise's kernel.py")
    group.addoption("--entry", help="grade only this one of a file's entries")
    group.addoption("--device", default="auto", choices=("auto", "cpu", "cuda"))
    group.addoption("--grader-seed", type=int, help="replay a run; default: a new seed")
    group.addoption("--case", help="try only this case, in the form that a failure shows")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "entry(name): a property of this entry, of several")


def is_exercise(folder: Path) -> bool:
    return (folder / "spec.py").is_file()


def _gradings(config: pytest.Config) -> Gradings:
    """Return the gradings that a judge prepared, or make those that a plain pytest asks for."""
    if GRADINGS not in config.stash:
        from grader.grading.options import Options, new_seed
        from grader.machine import choose_device
        from grader.model import Case
        from grader.sandbox import ForkServers

        kernel, case = config.getoption("--kernel"), config.getoption("--case")
        seed = config.getoption("--grader-seed")
        options = Options(
            seed=new_seed() if seed is None else seed,
            device=choose_device(config.getoption("--device")),
            case=None if case is None else Case.parse(case),
        )
        path = kernel and Path(kernel).resolve()
        config.stash[GRADINGS] = Gradings(
            ForkServers(), options, path, shared=False, entry=config.getoption("--entry")
        )
    return config.stash[GRADINGS]


def _grading_of(item: pytest.Item) -> Grading | None:
    """Return the grading that an exercise's item belongs to; None if its entry is left out."""
    of_folder = _gradings(item.config).of(item.path.parent)
    if isinstance(item, StepItem):
        return of_folder[item.entry]
    first = next(iter(of_folder))
    marked = item.get_closest_marker("entry")
    return of_folder.get(first if marked is None else marked.args[0])


def _known_grading(item: pytest.Item) -> Grading:
    grading = _grading_of(item)
    assert grading is not None, "items of entries that are left out are not run"
    return grading


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not is_exercise(file_path.parent) or file_path.name not in ("spec.py", "test_kernel.py"):
        return None
    _prepare_hypothesis(_gradings(parent.config).options)
    if file_path.name == "spec.py":
        return SpecFile.from_parent(parent, path=file_path)
    return None


def _prepare_hypothesis(options: Options) -> None:
    """Set up Hypothesis, which reads its settings when the tests are imported."""
    from hypothesis import HealthCheck, Phase, settings

    from grader.correctness import SCOPE, Scope

    phases = [Phase.explicit, Phase.generate] + [Phase.shrink] * options.shrink
    settings.register_profile(
        "grader",
        deadline=None,
        database=None,
        derandomize=False,  # Hypothesis would choose True where a variable CI is set
        max_examples=12 if options.device == "cpu" else 40,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    settings.load_profile("grader")
    SCOPE.set(Scope(on_gpu=options.device == "cuda", only=options.case))


class SpecFile(pytest.File):
    """An exercise's spec.py, collected as the built-in steps."""

    def collect(self) -> Generator[StepItem, None, None]:
        for entry, grading in _gradings(self.config).of(self.path.parent).items():
            for step in grading.order:
                name = step.name if entry is None else f"{entry}: {step.name}"
                yield StepItem.from_parent(self, name=name, step=step, entry=entry)


class StepFailed(Exception):
    """A step that did not pass, with the message that a plain pytest shows."""


class StepItem(pytest.Item):
    """One step of a check, of one entry."""

    def __init__(self, *, step: Step, entry: str | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.step, self.entry = step, entry

    def runtest(self) -> None:
        from grader.grading.recording import run

        grading = _known_grading(self)
        _gradings(self.config).begin(grading)
        done = run(grading, self.step)
        if done.outcome in (Outcome.SKIP, Outcome.NOT_RUN):
            pytest.skip(done.summary)
        if done.outcome is not Outcome.PASS:
            shown = self.step.runs_tests and grading.tests  # by the tests that failed
            failure = None if shown else done.failure
            raise StepFailed(_in_words(failure) if failure else done.summary)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, (StepFailed, GraderError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{self.path.parent.name}: {self.name}"


def _in_words(failure: Failure) -> str:
    lines = [f"{failure.case}: {failure.message}" if failure.case else failure.message]
    lines += [f"  expected  {failure.expected}"] * bool(failure.expected)
    lines += [f"  got       {failure.got}"] * bool(failure.got)
    lines += [f"  where     {failure.where}"] * bool(failure.where)
    lines += [f"  at        kernel.py:{f.line} {f.code}" for f in failure.frames]
    lines += [f"  replay    {failure.replay}"] * bool(failure.replay)
    return "\n".join(lines)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put an exercise's steps in their order, and its tests before the step that judges them.

    The entries of a file come one after the other.
    """

    def rank(item: pytest.Item) -> tuple[str, int, int, bool]:
        grading = _known_grading(item)
        at = [s is item.step if isinstance(item, StepItem) else s.runs_tests for s in grading.order]
        entry = list(_gradings(config).of(item.path.parent).values()).index(grading)
        return str(item.path.parent), entry, at.index(True), isinstance(item, StepItem)

    items[:] = [
        item for item in items if not is_exercise(item.path.parent) or _grading_of(item) is not None
    ]
    ours = [i for i, item in enumerate(items) if is_exercise(item.path.parent)]
    ranked = sorted((items[i] for i in ours), key=rank)
    for position, item in zip(ours, ranked, strict=True):
        items[position] = item


@pytest.fixture
def kernel(request: pytest.FixtureRequest) -> RemoteKernel:
    """Return the entry of the kernel file under test, as a callable that runs in a worker."""
    return _known_grading(request.node).remote


def pytest_runtest_setup(item: pytest.Item) -> None:
    if isinstance(item, StepItem) or not is_exercise(item.path.parent):
        return
    from grader.grading.recording import unmet_need

    grading = _known_grading(item)
    _gradings(item.config).begin(grading)
    judged_by = next(step for step in grading.order if step.runs_tests)
    left_out = judged_by.name in grading.options.leave_out
    needed = unmet_need(grading, judged_by)
    item.stash[NOT_RUN] = left_out or needed is not None
    if item.stash[NOT_RUN]:
        pytest.skip("left out of this check" if left_out else f"needs {needed}")
    grading.on_step(judged_by)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, Any]:
    report = yield
    if isinstance(item, StepItem) or not is_exercise(item.path.parent):
        return report
    # A test that its author skips would count as a law that holds.
    skipped = report.skipped and not item.stash.get(NOT_RUN, False)
    if call.when == "call" or (call.when == "setup" and (report.failed or skipped)):
        from grader.grading.session import TestRun

        grading = _known_grading(item)
        error = call.excinfo.value if call.excinfo else None
        outcome, failure = _judged(item, grading, error)
        grading.tests.append(TestRun(_title(item), call.duration, outcome, failure))
    return report


def _judged(
    item: pytest.Item, grading: Grading, error: BaseException | None
) -> tuple[Outcome, Failure | None]:
    """Decide whose fault a test's exception is, and build its failure."""
    from hypothesis.errors import Flaky

    from grader.grading import laws
    from grader.grading.recording import failure_of, full_disk, outcome_of
    from grader.grading.trials import no_memory_for, with_case, with_last_run
    from grader.machine import gpu_is_lost, is_full_disk, is_out_of_memory, lost_gpu
    from grader.model import Failure
    from grader.sandbox import KernelFailure

    if error is None:
        return Outcome.PASS, None
    error = laws.cause_of(error, item.path)
    law = ((getattr(item, "obj", None).__doc__ or "").strip() or item.name).splitlines()[0]
    if isinstance(error, KernelFailure):
        failure, outcome = error.failure, outcome_of(error.failure)
    elif isinstance(error, Flaky):
        failure = Failure(
            kind="flaky",
            message=f"the kernel's output changes from call to call. {law}",
            hint="Look for a race, or for memory that is read before it is written.",
        )
        outcome = Outcome.FAIL
    elif gpu_is_lost(error):
        return Outcome.CANNOT_GRADE, lost_gpu(error)
    elif is_full_disk(error):
        return Outcome.CANNOT_GRADE, full_disk(error)
    elif is_out_of_memory(error):
        return failure_of(no_memory_for(f"the test {item.name}"))
    elif isinstance(error, GraderError):
        return failure_of(error)
    elif laws.is_broken(error, item.path):
        assert isinstance(error, AssertionError)
        failure = with_last_run(laws.broken(law, error, grading.source), grading)
        outcome = Outcome.FAIL
    else:
        failure = Failure(
            kind="error",
            message=f"the test {item.name} is broken: {type(error).__name__}: {error}",
            hint="Tell whoever wrote the exercise; your kernel is not at fault.",
        )
        return Outcome.ERROR, failure
    if grading.remote.last_case is not None:
        failure = with_case(failure, grading, grading.remote.last_case)
    return outcome, failure


def _title(item: pytest.Item) -> str:
    return item.name.removeprefix("test_").replace("_", " ")


def pytest_sessionfinish(session: pytest.Session) -> None:
    if GRADINGS not in session.config.stash:
        return
    gradings = session.config.stash[GRADINGS]
    for grading in gradings.all():
        grading.close()


def pytest_unconfigure(config: pytest.Config) -> None:
    if GRADINGS in config.stash and not config.stash[GRADINGS].shared:
        config.stash[GRADINGS].fork_servers.close()

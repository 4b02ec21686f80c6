"""The findings of the step `compile`: registers, shared memory, widths, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader import backends
from grader.course import settings
from grader.grading import compiling
from grader.grading.compiling import (
    Built,
    Code,
    CompilerProcess,
    Fault,
    Job,
    Killed,
    Missing,
    Refusal,
    TooLong,
    Untried,
)
from grader.grading.session import Grading
from grader.grading.step import Finding
from grader.model import (
    CannotGrade,
    Compiled,
    Failure,
    Frame,
    Outcome,
    Specialisation,
    Width,
    compiled_words,
    counted,
)
from grader.sandbox import KernelFailure, NotSimulated
from grader.speed import MULTIPROCESSORS, blocks_at_once, share_of_warps

REQUIRED = 90
REPORTED = (75, 100)
MOST_TENSOR = 512  # columns of tensor memory
RIGHT = "The outputs are right in simulation, but this GPU could not run the kernel."
TRY = "Try a smaller block, or another way to write the line."


def compiled(grading: Grading) -> Finding:
    """Judge what the compiler made of each launched kernel.

    Raises KernelFailure where a simulated call goes wrong.
    """
    found = _judged(grading)
    if found.outcome is not Outcome.FAIL or not _may_have_chosen(grading):
        return found
    # A new worker has not tuned anything: its call launches every form.
    grading.workers.renew("cpu")
    grading.forget(compiling.launched, jobs, build)
    return _judged(grading)


def _may_have_chosen(grading: Grading) -> bool:
    """Report whether autotuning may explain a refusal: a worker launches only the form it chose.

    On a GPU that refuses this form the tuner would choose another. A timeout is no refusal.
    """
    every = zip(grading.once(jobs), grading.once(build), strict=True)
    too_long = any(job.required and isinstance(one, TooLong) for job, one in every)
    return backends.find(grading.spec.backend).can.tune and not too_long


def _judged(grading: Grading) -> Finding:
    try:
        every = grading.once(jobs)
    except (NotSimulated, KernelFailure) as error:
        if grading.options.device == "cpu":
            raise
        what = error.what if isinstance(error, NotSimulated) else error.failure.message
        return Finding(f"not compiled: not simulated: {what}", outcome=Outcome.SKIP)
    if not every:
        return Finding("not compiled: no kernel was launched", outcome=Outcome.SKIP)
    built = grading.once(build)
    missing = next((one for one in built if isinstance(one, Missing)), None)
    if missing is not None:
        needs = backends.find(grading.spec.backend).compiler_needs
        command = f": pip install {needs[missing.tool]}" if missing.tool in needs else ""
        return Finding(f"not compiled: {missing.tool} is missing{command}", outcome=Outcome.SKIP)
    rows = tuple(_row(job, one) for job, one in zip(every, built, strict=True))
    failed = _failed(every, rows)
    if failed is None:
        return Finding(_summary(grading, rows), compiled=rows)
    untried = isinstance(built[rows.index(failed)], Untried)
    if untried and not any(isinstance(one, TooLong) for one in built):
        raise CannotGrade(
            "The compiler's process ended before it had compiled every kernel.",
            "Check again without other programs that need much memory or time.",
        )
    return Finding(
        f"not for sm_{failed.target}", _failure(grading, failed), Outcome.FAIL, compiled=rows
    )


def _failed(every: Sequence[Job], rows: Sequence[Compiled]) -> Compiled | None:
    """Return the first refusal by the required GPU that a file cannot get around.

    A benchmark on a GPU passes over forms of a kernel that the GPU refuses: one that compiles is
    enough of those that it tries.
    """
    tried: dict[tuple[str, str], list[Compiled]] = {}
    for job, row in zip(every, rows, strict=True):
        if job.required and job.kernel.trial:
            tried.setdefault((job.dtype, job.kernel.kernel), []).append(row)
        elif job.required and row.registers is None:
            return row
    for forms in tried.values():
        if all(form.registers is None for form in forms):
            return forms[0]
    return None


def jobs(grading: Grading) -> list[Job]:
    """List what to compile, from one simulated call of each dtype."""
    if grading.options.device != "cpu":
        grading.finish_begun()  # another step may be using the simulated GPU
    required, others = targets(grading)
    launched: Mapping[str, Sequence[Specialisation]] = grading.once(compiling.launched)
    return [
        Job(dtype, kernel, target, target == required)
        for target in (required, *others)
        for dtype, kernels in launched.items()
        for kernel in (kernels if target == required else _first_forms(kernels))
    ]


def _first_forms(kernels: Sequence[Specialisation]) -> Sequence[Specialisation]:
    """Return the forms without those that autotuning tried, except the first of each kernel."""
    tried = {kernel.kernel: kernel for kernel in reversed(kernels) if kernel.trial}
    return [one for one in kernels if not one.trial or one is tried[one.kernel]]


def compiler_process(grading: Grading) -> CompilerProcess:
    """Start the compiler's process. If nothing is compiled, it ends when the check does."""
    process = CompilerProcess(grading.spec.backend)
    grading.at_close.callback(process.close)
    grading.at_close.callback(grading.forget, compiler_process)
    return process


def build(grading: Grading) -> list[Built]:
    waiting = grading.done(compiler_process)
    grading.forget(compiler_process)  # it serves once
    return compiling.build(grading.spec.backend, grading.once(jobs), waiting)


def targets(grading: Grading) -> tuple[int, tuple[int, ...]]:
    """Return the capability for which the kernel must compile, and further ones."""
    spec, options = grading.spec, grading.options
    required = spec.targets[0] if spec.targets else REQUIRED
    capability = grading.workers.environment.capability
    if options.device == "cuda" and capability is not None:
        required = int(capability.replace(".", ""))
    if not options.elsewhere:
        return required, ()
    course = settings.read(grading.exercise.root).targets
    others = options.targets or spec.targets or course or REPORTED
    return required, tuple(dict.fromkeys(one for one in others if one != required))


def _row(job: Job, built: Built) -> Compiled:
    row = Compiled(
        kernel=job.kernel.kernel, dtype=job.dtype, target=job.target, required=job.required
    )
    if not isinstance(built, Code):
        line = built.line if isinstance(built, Refusal) else None
        return row.model_copy(update={"error": _why(built), "line": line})
    sm = MULTIPROCESSORS.get(job.target)
    unfit = _unfit(built, job.target)
    if unfit is not None:
        return row.model_copy(update={"error": unfit})
    blocks, share = None, None
    if sm is not None:
        blocks = blocks_at_once(sm, built.registers, built.shared, built.threads)
        share = share_of_warps(sm, blocks, built.threads)
    return row.model_copy(
        update={
            "registers": built.registers,
            "spills": built.spills,
            "shared_bytes": built.shared,
            "threads": built.threads,
            "blocks": blocks,
            "occupancy": share,
            "loads": tuple(Width(bits=b, instructions=n) for b, n in built.loads),
            "stores": tuple(Width(bits=b, instructions=n) for b, n in built.stores),
            "arithmetic": built.arithmetic,
        }
    )


def _why(built: Built) -> str:
    if isinstance(built, Refusal):
        return built.error
    if isinstance(built, Fault):
        return "the compiler's process failed, which is no fault of the kernel"
    if isinstance(built, Killed):
        return "the system killed the compiler, which is no fault of the kernel"
    if isinstance(built, TooLong):
        return f"it did not compile within {built.seconds:.0f} s"
    return "not tried: other compilations took too long"


def _unfit(code: Code, target: int) -> str | None:
    """Return why the driver would refuse to start this code, which the compiler does not see."""
    sm = MULTIPROCESSORS.get(target)
    if sm is None:
        return None
    if code.shared > sm.shared - sm.reserved:
        return (
            f"it needs {_kib(code.shared)} of shared memory per block, and this GPU has "
            f"{_kib(sm.shared - sm.reserved)}"
        )
    if code.tensor > MOST_TENSOR:
        return f"it needs {code.tensor} columns of tensor memory, and this GPU has {MOST_TENSOR}"
    if not blocks_at_once(sm, code.registers, code.shared, code.threads):
        return (
            f"{code.threads} threads of {code.registers} registers each do not fit on a "
            "multiprocessor"
        )
    return None


def _kib(size: int) -> str:
    return f"{size / 1024:.1f}".removesuffix(".0") + " KiB"


def _summary(grading: Grading, rows: Sequence[Compiled]) -> str:
    """Describe the kernel of the scored dtype that uses most registers."""
    spec = grading.spec
    dtype = spec.scored.dtype if spec.scored is not None else spec.dtypes[0]
    own = [row for row in rows if row.required]
    chosen = [row for row in own if row.dtype == dtype] or own
    most = max(chosen, key=lambda row: row.registers or 0)
    more = len({row.kernel for row in chosen}) - 1
    of = f" ({most.kernel}, and {counted(more, 'other kernels')})" if more else ""
    return f"sm_{most.target}{of}: {compiled_words(most)}"


def _failure(grading: Grading, row: Compiled) -> Failure:
    source = grading.source
    frames: tuple[Frame, ...] = ()
    if row.line is not None and 0 < row.line <= len(source):
        frames = (Frame(line=row.line, function="", code=source[row.line - 1].strip()),)
    return Failure(
        kind="compile",
        message=f"{row.kernel} for {row.dtype} does not run on sm_{row.target}: {row.error}",
        frames=frames,
        hint=TRY if backends.find(grading.spec.backend).can.dry_run else f"{RIGHT} {TRY}",
    )

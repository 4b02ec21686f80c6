"""Results of checks that ended in different ways, for the tests of what is reported of them."""

from __future__ import annotations

from pathlib import Path

from grader.model.outcomes import Outcome, Status
from grader.model.results import Clocks, Failure, Frame, Speed, Step, parse_result

COURSES = Path(__file__).parent / "courses"
PASSED = parse_result((COURSES / "result.json").read_bytes())
LOAD, CORRECTNESS, PROPERTIES, TRAFFIC, MEMORY, SPEED = PASSED.steps


def changed(record, **changes):
    """A copy of a frozen record."""
    return record.model_copy(update=changes)


def not_run(step: Step, needs: str) -> Step:
    return changed(step, outcome=Outcome.NOT_RUN, points=0, summary=f"not run: needs {needs}")


def failed(step: Step, failure: Failure, outcome: Outcome = Outcome.FAIL, **changes) -> Step:
    return changed(step, outcome=outcome, points=0, failure=failure, **changes)


MASK = Failure(
    kind="mismatch",
    message="element (0, 1024) of out was never written",
    expected="0.00098",
    got="nan (never written)",
    where="column 1024 of every row, 1 of 1025 elements",
    case="1 × 1,025 in float16",
    replay="grader check 01_double --case '1x1025,float16,seed=81'",
    frames=(Frame(line=17, function="double_kernel", code="    tl.store(out, y, mask=mask)"),),
)
CORRECTNESS_FAILS = changed(
    PASSED,
    status=Status.FAIL,
    points=0,
    steps=(
        LOAD,
        failed(CORRECTNESS, MASK),
        not_run(PROPERTIES, "correctness"),
        not_run(TRAFFIC, "correctness"),
        not_run(MEMORY, "correctness"),
        not_run(SPEED, "correctness"),
    ),
)
MEASURED = Speed(
    case="2,048 × 65,536 in float32",
    bytes_moved=2**30,
    time_ms=0.3456,
    bandwidth_gbps=3106.9,
    ceiling_gbps=4100.0,
    share=0.7578,
    share_low=0.7571,
    share_high=0.7583,
    passing=0.56,
    great=0.8,
    goes=16,
    calls_per_go=4,
    first_call_s=0.62,
    latency_case="1 × 1,024 in float32",
    latency_us=8.31,
    clocks=Clocks(
        sm_mhz=(1905, 1980), memory_mhz=(3201, 3201), temperature_c=48, slowdowns=("power limit",)
    ),
)
ON_A_GPU = changed(
    PASSED,
    points=10,
    environment=changed(PASSED.environment, device="NVIDIA H200", simulated=False),
    steps=(
        LOAD,
        CORRECTNESS,
        PROPERTIES,
        TRAFFIC,
        MEMORY,
        changed(
            SPEED,
            outcome=Outcome.PASS,
            points=3,
            summary="2,048 × 65,536 in float32, 16 goes of 4 calls",
            speed=MEASURED,
        ),
    ),
)
GREAT = changed(
    ON_A_GPU,
    steps=(*ON_A_GPU.steps[:5], changed(ON_A_GPU.steps[5], speed=changed(MEASURED, share=0.85))),
)
TOO_SLOW = changed(
    ON_A_GPU,
    status=Status.FAIL,
    points=7,
    steps=(
        *ON_A_GPU.steps[:5],
        failed(
            ON_A_GPU.steps[5],
            Failure(kind="slow", message="reaches 41.3 % of the ceiling, less than 56 %"),
            speed=changed(MEASURED, share=0.413),
        ),
    ),
)
NOT_STARTED = changed(
    PASSED,
    status=Status.NOT_STARTED,
    points=0,
    steps=(
        LOAD,
        failed(
            CORRECTNESS,
            Failure(
                kind="not_started",
                message="NotImplementedError: 01_double: write this part",
                case="1 element of float32",
                replay="grader check 01_double --case '1,float32'",
                frames=(Frame(line=15, function="double", code="raise NotImplementedError("),),
            ),
            Outcome.NOT_STARTED,
        ),
        not_run(PROPERTIES, "correctness"),
        not_run(TRAFFIC, "correctness"),
        not_run(MEMORY, "correctness"),
        not_run(SPEED, "correctness"),
    ),
)
CRASHED = changed(
    PASSED,
    status=Status.FAIL,
    points=0,
    steps=(
        failed(
            LOAD,
            Failure(
                kind="exception",
                message="NameError: name 'tritn' is not defined",
                frames=(
                    Frame(line=3, function="<module>", code="@tritn.jit"),
                    Frame(line=9, function="", code="tritn"),
                ),
                hint="Is it misspelt?",
            ),
            summary="",
        ),
        not_run(CORRECTNESS, "load"),
        not_run(PROPERTIES, "load"),
        not_run(TRAFFIC, "load"),
        not_run(MEMORY, "load"),
        not_run(SPEED, "load"),
    ),
)
BROKEN = changed(
    PASSED,
    status=Status.ERROR,
    points=0,
    steps=(
        LOAD,
        failed(
            CORRECTNESS,
            Failure(
                kind="error",
                message="The reference of 01_double fails with IndexError",
                hint="Tell whoever wrote the exercise; your kernel is not at fault.",
            ),
            Outcome.ERROR,
            summary="The reference of 01_double fails with IndexError",
        ),
        not_run(PROPERTIES, "correctness"),
        not_run(TRAFFIC, "correctness"),
        not_run(MEMORY, "correctness"),
        not_run(SPEED, "correctness"),
    ),
)
NO_GPU = changed(
    PASSED,
    status=Status.CANNOT_GRADE,
    steps=(
        *PASSED.steps[:5],
        changed(SPEED, outcome=Outcome.CANNOT_GRADE, summary="needs a CUDA GPU, and was required"),
    ),
)
INTERRUPTED = changed(
    PASSED,
    status=Status.INTERRUPTED,
    points=0,
    message="interrupted while correctness ran",
    steps=(LOAD,),
)
UNFINISHED = changed(PASSED, status=Status.UNFINISHED, points=0, steps=())

REPORTS = {
    "pass-simulated": PASSED,
    "pass-with-speed": ON_A_GPU,
    "too-slow": TOO_SLOW,
    "correctness-failure": CORRECTNESS_FAILS,
    "not-started": NOT_STARTED,
    "crash": CRASHED,
    "grader-error": BROKEN,
    "no-gpu": NO_GPU,
    "interrupted": INTERRUPTED,
    "unfinished": UNFINISHED,
}

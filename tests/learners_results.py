"""Results of a learner's checks, for the tests of the pages that show them."""

from __future__ import annotations

from reported import PASSED, SPEED, of, step, timed, wrong

from grader.model.outcomes import Outcome
from grader.model.results import Compiled, HeldOverCall, Memory, Result, Roof

WRONG = wrong("out[3] is 1, and 2 is right", **of("02_row_sum", "Row sum"))
OVER_CALL = HeldOverCall(
    case="8 elements of float32",
    kernel=((0, 0), (1, 64), (2, 0)),
    torch=((0, 0), (1, 2048), (2, 4096), (3, 1024)),
    torch_outputs=1024,
)
MEMORY = Memory(
    case="1,024 elements of float32",
    peak_bytes=3 << 20,
    most_bytes=4 << 20,
    simulated=True,
    over_call=OVER_CALL,
)
COMPILED = Compiled(
    kernel="double_kernel",
    dtype="float32",
    target=90,
    required=True,
    registers=40,
    spills=0,
    shared_bytes=2048,
    threads=256,
    blocks=6,
    occupancy=0.75,
)
ROOFS = (Roof(name="memory", rate=4.0), Roof(name="arithmetic", rate=50.0))


def complete() -> Result:
    """A result with all that a page can draw."""
    sizes = tuple(
        SPEED.model_copy(update={"case": case, "share": share, "rate": 3.0, "roofs": ROOFS})
        for case, share in (
            ("4,096 elements of float32", 0.95),
            ("65,536 elements of float32", 0.86),
        )
    )
    speed = SPEED.model_copy(update={"sizes": sizes})
    compiled = {"name": "compile", "summary": "sm_90: 40 registers", "compiled": (COMPILED,)}
    steps = (
        *PASSED.steps[:-2],
        step("memory", Outcome.PASS, memory=MEMORY, summary="1,024 elements of float32: 3 MiB"),
        PASSED.steps[0].model_copy(update=compiled),
        step("speed", Outcome.PASS, speed=speed, summary=""),
    )
    return timed(**of("01_double", "Double")).model_copy(update={"steps": steps, "points": 10})

"""Attempts of a small class, for the tests of what is reported of them.

    python tests/reported.py

writes tests/golden/reports/, to which tests/reports/test_formats.py holds the formats: run it when
one of them changed on purpose, and look at the difference.
"""

from __future__ import annotations

import json
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from grader.classroom import signing
from grader.classroom.ci_systems import CLASSROOM50
from grader.model.attempts import Attempt
from grader.model.numbers import Compared, Numbers, Values
from grader.model.outcomes import Outcome, Status
from grader.model.results import Failure, Frame, Result, Speed, Step, parse_result
from grader.reports.formats import blackboard, canvas, moodle
from grader.reports.formats.registry import FORMATS, Context, Report

FOLDER = Path(__file__).parent
GOLDEN = FOLDER / "golden" / "reports"
GRADEBOOK = FOLDER / "golden" / "gradebook.csv"  # as Canvas exports one
OF_BLACKBOARD = FOLDER / "golden" / "gradebook-blackboard.csv"
PASSED = parse_result((FOLDER / "courses" / "result.json").read_bytes())
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
IDENTITY = {
    "classroom": "gpu-course",
    "assignment": "kernels",
    "assignment_type": "individual",
    "owner": "ada",
    "submission": "submit/2026-11-20T10-00-00Z-a1b2c3d",
    "commit": "https://github.com/gpu-course/kernels-ada/commit/a1b2c3d",
    "release": "https://github.com/gpu-course/kernels-ada/releases/tag/submit",
    "review": "https://github.com/gpu-course/kernels-ada/compare/0...a1b2c3d",
    "username": "ada",
}
CONTEXT = Context(
    title="A small course",
    submitted_at="2026-11-20T10:00:00+00:00",
    made_at="2026-11-20T10:05:00+00:00",
    sign=lambda attempts: signing.sign(attempts, KEY),
    identity=IDENTITY,
    folder="course",
    summary=Path("summary.md"),
)
assert set(CLASSROOM50) < set(IDENTITY)

SPEED = Speed(
    case="268,435,456 elements of float32",
    bytes_moved=2 << 30,
    time_ms=0.5,
    bandwidth_gbps=4294.967,
    ceiling_gbps=4700.0,
    share=0.9138,
    share_low=0.91,
    share_high=0.917,
    passing=0.8,
    great=0.9,
    goes=30,
    calls_per_go=4,
    first_call_s=0.9,
    latency_case="1,000 elements of float32",
    latency_us=12.0,
)


def step(name: str, outcome: Outcome, failure: Failure | None = None, **changes) -> Step:
    (old,) = (s for s in PASSED.steps if s.name == name)
    points = old.max_points if outcome is Outcome.PASS else 0
    return old.model_copy(
        update={"outcome": outcome, "failure": failure, "points": points} | changes
    )


def ended(status: Status, *steps: Step, **changes) -> Result:
    """A result that came to this; the steps behind those given were not run."""
    rest = PASSED.steps[len(steps) :] if steps else ()
    left = (step(s.name, Outcome.NOT_RUN, summary="not run") for s in rest)
    whole = (*steps, *left)
    points = sum(s.points for s in whole)
    return PASSED.model_copy(update={"status": status, "points": points, "steps": whole} | changes)


def numbers() -> Numbers:
    """Three elements of which the last is half of what it should be."""
    x = Values(
        argument="x",
        dtype="float16",
        shape=(3,),
        axes=(0,),
        start=(0,),
        window=(3,),
        values=(1.0, 2.0, 3.0),
    )
    out = Compared(
        **dict(x) | {"argument": "out", "values": (2.0, 4.0, 3.0)},
        expected=(2.0, 4.0, 6.0),
        wrong=(False, False, True),
        wrong_count=1,
        where="element 2",
        largest_error=3.0,
        largest_at=(2,),
    )
    return Numbers(output="out", shape=(3,), first=(2,), inputs=(x,), outputs=(out,))


def wrong(message: str, **changes) -> Result:
    """A kernel that is wrong."""
    failure = Failure(
        kind="value",
        message=message,
        expected="2",
        got="1",
        where="every element",
        case="7 elements of float16",
        replay="grader check 02_row_sum --case '7,float16,seed=1'",
        frames=(Frame(line=12, function="double", code="tl.store(out_ptr, x)"),),
        hint="Load, double, store.",
        numbers=numbers(),
    )
    load = step("load", Outcome.PASS)
    return ended(Status.FAIL, load, step("correctness", Outcome.FAIL, failure), **changes)


def not_started(**changes) -> Result:
    failure = Failure(kind="not_started", message="NotImplementedError: write this part")
    load = step("load", Outcome.PASS)
    return ended(
        Status.NOT_STARTED,
        load,
        step("correctness", Outcome.NOT_STARTED, failure),
        **changes,
    )


def timed(**changes) -> Result:
    speed = step("speed", Outcome.PASS, summary="91.4 % of the ceiling", speed=SPEED)
    where = PASSED.environment.model_copy(update={"device": "NVIDIA H200", "simulated": False})
    changes = {"environment": where} | changes
    return ended(Status.PASS, *PASSED.steps[:-1], speed, **changes)


def noisy(**changes) -> Result:
    failure = Failure(kind="noisy", message="another program uses this GPU")
    speed = step("speed", Outcome.NOISY, failure, summary="disturbed")
    return ended(Status.CANNOT_GRADE, *PASSED.steps[:-1], speed, **changes)


def attempt(result: Result, student: str = "ada", number: int = 1, **changes) -> Attempt:
    return Attempt(
        id=f"{number:032x}",
        course="small",
        version="2026.1",
        student=student,
        submitted_at="2026-11-20T10:00:00+00:00",
        result=result,
    ).model_copy(update=changes)


def of(exercise: str, title: str) -> dict[str, object]:
    kernel = PASSED.kernel.model_copy(update={"path": f"exercises/{exercise}/kernel.py"})
    return {"exercise": exercise, "title": title, "kernel": kernel}


def one_student() -> list[Attempt]:
    """All of one student's kernels, each with another end; what could not be graded is not here."""
    changed = "exercises/03_copy/spec.py was changed: graded with the course's own"
    missing = {"message": "There is no exercises/05_late/kernel.py.", "duration_s": 0.0}
    return [
        attempt(timed(**of("01_double", "Double")), number=1),
        attempt(wrong("out[3] is 1, and 2 is right", **of("02_row_sum", "Row sum")), number=2),
        attempt(not_started(**of("03_copy", "Copy")), number=3, notes=(changed,)),
        attempt(
            PASSED.model_copy(
                update=of("04_simulated", "Simulated")
                | {"output": "::error::I printed this\n=2+2\n</pre>]]>"}
            ),
            number=4,
        ),
        attempt(ended(Status.NOT_STARTED, **of("05_late", "Late"), **missing), number=5),
    ]


def faults() -> list[Attempt]:
    """Kernels about which nothing can be said."""
    return [
        attempt(noisy(**of("06_noisy", "Noisy")), number=6),
        attempt(
            ended(Status.ERROR, **of("07_broken", "Broken"), message="spec.py fails."), number=7
        ),
        attempt(
            PASSED.model_copy(update=of("08_half", "Half") | {"status": Status.UNFINISHED}),
            number=8,
        ),
        attempt(ended(Status.INTERRUPTED, **of("09_stopped", "Stopped")), number=9),
    ]


def a_class() -> list[Attempt]:
    """Two students, one attempt each for some of the exercises."""
    double, rows = of("01_double", "Double"), of("02_row_sum", "Row sum")
    return [
        attempt(timed(**double), "ada", 11),
        attempt(wrong("out[3] is 1", **rows), "ada", 12),
        attempt(wrong('=HYPERLINK("x")', **double), "=cmd|' /C calc'!A0", 13),
        attempt(noisy(**rows), "=cmd|' /C calc'!A0", 14),
    ]


def golden() -> dict[str, str]:
    """File name to content, for each format and for what has more than one face."""
    everything = [*one_student(), *faults()]
    endings = {"result": "jsonl", "attempt": "jsonl", "signed": "jsonl", "junit": "xml"}
    files = {}
    for name in FORMATS:
        attempts = a_class() if name.startswith("csv") else everything
        attempts = one_student() if name in ("classroom50", "prairielearn") else attempts
        for document in Report(name).make(attempts, CONTEXT):
            ending = "csv" if name.startswith("csv") else endings.get(name, "json")
            file = f"{name}.{ending}"
            if name in ("github", "gitlab"):
                file = f"{name}-{document.path or 'annotations.txt'}"
            files[file] = document.text
    (faulty,) = Report("prairielearn").make(everything, CONTEXT)
    files["prairielearn-fault.json"] = faulty.text
    book = GRADEBOOK.read_text(encoding="utf-8")
    files["canvas.csv"] = canvas.fill(book, a_class(), total="All kernels").text
    book = OF_BLACKBOARD.read_text(encoding="utf-8")
    files["blackboard.csv"] = blackboard.fill(book, a_class(), total="All kernels").text
    files["moodle.csv"] = moodle.document(a_class(), total="All kernels")
    assert all(text is not None for text in files.values())
    return files


def main() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for old in GOLDEN.iterdir():
        old.unlink()
    for name, text in golden().items():
        (GOLDEN / name).write_bytes(text.encode())
    print(f"{GOLDEN}: {len(list(GOLDEN.iterdir()))} files")


def load(name: str) -> dict:
    """A golden file that is JSON."""
    return json.loads((GOLDEN / name).read_bytes())


if __name__ == "__main__":
    main()

"""The results of a small class, as files: what the tests of a leaderboard read."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from grader.classroom import signing
from grader.classroom.attempts import Context
from grader.classroom.board.collect import Collected, collect
from grader.model import attempts
from grader.model.attempts import Attempt
from grader.model.outcomes import Outcome, Status
from grader.model.results import Failure, Result, Speed, parse_result

COURSES = Path(__file__).parent / "courses"
SMALL = COURSES / "small"
SIMULATED = parse_result((COURSES / "result.json").read_bytes())
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
TODAY = "2026-11-21T10:00:00Z"
TIMED, OTHER, PUZZLE = "01_double", "02_row_sum", "p01_copy"
H200, A100 = "NVIDIA H200", "NVIDIA A100"

# Each test run signs with a key of its own.
KEY = Ed25519PrivateKey.generate()
TRUSTED = {signing.fingerprint(KEY.public_key()): KEY.public_key()}
CONTEXT = Context(
    course="small",
    version="0",
    timed={TIMED: True, OTHER: True, PUZZLE: False},
    trusted=TRUSTED,
    now=NOW,
)


def speed(share: float, low: float | None = None, high: float | None = None) -> Speed:
    return Speed(
        case="268,435,456 elements of float32",
        bytes_moved=2**31,
        time_ms=2**31 / (share * 4e12) * 1e3,
        bandwidth_gbps=share * 4000,
        ceiling_gbps=4000.0,
        share=share,
        share_low=share - 0.01 if low is None else low,
        share_high=share + 0.01 if high is None else high,
        passing=0.8,
        great=0.9,
        goes=16,
        calls_per_go=4,
        first_call_s=0.6,
        latency_case="1,024 elements of float32",
        latency_us=8.0,
    )


def timed(
    share: float = 0.85,
    *,
    low: float | None = None,
    high: float | None = None,
    kind: str | None = None,
    gpu: str = H200,
    hardened: bool = True,
    **changes: Any,
) -> Result:
    """A result of a GPU. `kind` is that of a failure of the speed step."""
    outcome = {None: Outcome.PASS, "noisy": Outcome.NOISY}.get(kind, Outcome.FAIL)
    status = {None: Status.PASS, "noisy": Status.CANNOT_GRADE}.get(kind, Status.FAIL)
    failure = None if kind is None else Failure(kind=kind, message="MARKER-failure")
    steps = tuple(
        step.model_copy(
            update={"outcome": outcome, "speed": speed(share, low, high), "failure": failure}
        )
        if step.name == "speed"
        else step
        for step in SIMULATED.steps
    )
    environment = SIMULATED.environment.model_copy(update={"device": gpu, "simulated": False})
    update = {"steps": steps, "status": status, "hardened": hardened, "environment": environment}
    return SIMULATED.model_copy(update=update | changes)


def wrong() -> Result:
    """A result of a GPU whose answer is not right."""
    steps = list(SIMULATED.steps)
    failure = Failure(kind="mismatch", message="MARKER-failure")
    steps[1] = steps[1].model_copy(update={"outcome": Outcome.FAIL, "failure": failure})
    update = {"steps": tuple(steps[:2]), "status": Status.FAIL, "points": 0, "hardened": True}
    return SIMULATED.model_copy(update=update)


def solved() -> Result:
    """A puzzle, solved."""
    steps = tuple(step for step in SIMULATED.steps if step.name != "speed")
    return SIMULATED.model_copy(update={"steps": steps, "exercise": PUZZLE, "hardened": True})


def attempt(result: Result | None = None, **changes: Any) -> Attempt:
    made = {
        "id": attempts.new_id(),
        "course": "small",
        "version": "0",
        "student": "ada",
        "submitted_at": TODAY,
        "result": timed() if result is None else result,
    }
    return Attempt(**made | changes)


def signed(made: Attempt, key: Ed25519PrivateKey = KEY) -> str:
    return attempts.attempt_json(signing.sign([made], key))


def line(share: float = 0.85, student: str = "ada", **changes: Any) -> str:
    """A signed attempt of a trusted run."""
    return signed(attempt(timed(share), student=student, **changes))


def read(folder: Path, *texts: str | bytes, context: Context = CONTEXT) -> Collected:
    """What is collected from these texts, each as a file."""
    folder.mkdir(exist_ok=True)
    for number, text in enumerate(texts):
        content = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        (folder / f"{number:03}.json").write_bytes(content)
    return collect([folder], context)

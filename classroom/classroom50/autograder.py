"""Grade a submission on Classroom 50, and write `result.json` into the student's checkout.

Classroom 50's runner starts this file there. The course lies beside this file, as `grader release`
wrote it, and only the kernel files come from the checkout. If the course is not here, the
checkout's own is used, which students may change: that is feedback, not a grade. Exits with 0 if
everything was graded, right or wrong; otherwise it writes no `result.json`.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

LIMIT_S = 13 * 60  # Classroom 50 ends a job after 15 minutes; the rest is for installing
WITHOUT_CUDA = "https://download.pytorch.org/whl/cpu"  # the index of PyTorch's builds for CPUs
STOP_S = 30  # for a check that is asked to stop


def main() -> int:
    checkout = Path.cwd()
    (checkout / "result.json").unlink(missing_ok=True)
    course = Path(os.environ.get("CLASSROOM50_BUNDLE_DIR") or Path(__file__).parent).resolve()
    if not any((course / shelf).is_dir() for shelf in ("exercises", "puzzles")):
        course = checkout
    if importlib.util.find_spec("grader") is None:
        install(course)
    # -I: no module of the student's is imported in place of ours.
    command = [sys.executable, "-I", "-m", "grader.cli", "ci", "--exit-zero"]
    command += ["--report", "classroom50=result.json", "--report", "github"]
    if course != checkout:
        command += ["--submission", str(checkout)]
    if not is_dated(os.environ.get("SUBMISSION_TAG", "")) and (time := committed_at(checkout)):
        command += ["--submitted-at", time]
    return run(command, {**os.environ, "GRADER_COURSE": str(course)})


def install(course: Path) -> None:
    """Install the course's requirements; a machine that has the grader already skips this.

    PyTorch's build without CUDA saves some gigabytes. For a runner with a GPU, TORCH_INDEX names
    another index: see classroom/README.md of kernel-grader.
    """
    command = [sys.executable, "-I", "-m", "pip", "install", "-r", "requirements.txt"]
    command += ["--extra-index-url", os.environ.get("TORCH_INDEX") or WITHOUT_CUDA]
    subprocess.run(command, cwd=course, check=True)


def is_dated(tag: str) -> bool:
    """Return true if Classroom 50's tag holds the time of submission: `grader ci` reads it then.

    For example `submit/2026-06-01T14-32-05Z-a1b2c3d`, Classroom 50's own time. The time of a commit
    comes from its author's clock, which can be set to any day.
    """
    try:
        datetime.strptime(tag[:27], "submit/%Y-%m-%dT%H-%M-%SZ")
    except ValueError:
        return False
    return True


def committed_at(checkout: Path) -> str:
    """Return the graded commit's own time, for a submission whose tag holds none.

    It stays the same whenever the commit is graded again. It is empty if it is not known or lies in
    the future, because the clock of the commit's author may be ahead.
    """
    command = ["git", "log", "-1", "--no-show-signature", "--format=%cI"]
    try:
        when = subprocess.check_output(command, cwd=checkout, text=True).strip()
        return when if datetime.fromisoformat(when) <= datetime.now(UTC) else ""
    except (OSError, subprocess.CalledProcessError, ValueError):
        return ""


def run(command: list[str], environment: dict[str, str]) -> int:
    grading = subprocess.Popen(command, env=environment)
    try:
        return grading.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        print(f"stopped after {LIMIT_S} seconds: nothing is graded", file=sys.stderr)
        grading.send_signal(signal.SIGINT)  # it ends what it started
    try:
        return grading.wait(STOP_S) or 1
    except subprocess.TimeoutExpired:
        grading.kill()
        return 1


if __name__ == "__main__":
    sys.exit(main())

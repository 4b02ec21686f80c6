"""The judge: a process that runs pytest over an exercise's own files and decides.

Started by `grader.check` as `python -I -m grader.judge RESULT_FD`, with a list of requests as JSON
on standard input; writes one `grader/result/v1` a line to RESULT_FD, in the order of the requests.
Of a learner's folder only the bytes of one kernel file are read, and they are not run here.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.course import Exercise
from grader.errors import GraderError
from grader.sandbox import Nursery


def main(argv: list[str]) -> int:
    results = os.fdopen(int(argv[0]), "w", encoding="utf-8")
    os.set_inheritable(results.fileno(), False)
    requests = json.load(sys.stdin)
    # The worker's imports run while ours do: both are seconds long.
    early = _early_nursery(requests)
    from grader.machine import choose_device
    from grader.session import Workshop

    workshop = Workshop()
    if early is not None:
        workshop.adopt(early)
    try:
        for request in requests:
            line, interrupted = _grade(request, choose_device(request["device"]), workshop)
            results.write(line + "\n")
            results.flush()
            if interrupted:
                return 130
    except GraderError as error:
        results.write(json.dumps({"error": error.message, "next_step": error.next_step,
                                  "exit_code": error.exit_code}) + "\n")
    finally:
        workshop.close()
    return 0


def _early_nursery(requests: list[Mapping[str, Any]]) -> Nursery | None:
    """Start the parent of workers at once, on the device that will most likely be chosen."""
    device = requests[0]["device"]
    if device == "auto":
        device = "cuda" if Path("/dev/nvidiactl").exists() else "cpu"
    with contextlib.suppress(GraderError):  # a broken spec is reported when it is graded
        spec = Exercise(Path(requests[0]["exercise"])).spec
        nursery = Nursery(spec.backend, device)
        nursery.start()
        return nursery
    return None


def _grade(request: Mapping[str, Any], device: str, workshop: Any) -> tuple[str, bool]:
    """Grade one kernel file; the result as JSON, and whether the user interrupted it."""
    import pytest

    from grader import plugin
    from grader.results import to_json
    from grader.session import Options
    from grader.spec import Case

    seed, case = request["seed"], request["case"]
    options = Options(
        seed=secrets.randbits(31) if seed is None else seed,
        device=device,
        case=None if case is None else Case.parse(case),
        require_speed=request["require_speed"],
        shrink=request["shrink"],
        pretend=request["pretend"],
        judged=True,
    )
    gradings = plugin.Gradings(workshop, options, Path(request["kernel"]))
    exercise = Exercise(Path(request["exercise"]))
    grading = gradings.of(exercise.folder)
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = pytest.main(
            [
                *("-c", os.devnull, "--rootdir", str(exercise.folder), "--noconftest"),
                *("-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin"),
                *("--import-mode=importlib", "-q", f"--hypothesis-seed={options.seed}"),
                str(exercise.folder / "spec.py"),
                *([str(exercise.tests)] if exercise.tests.exists() else []),
            ],
            plugins=[plugin, _Hand(gradings)],
        )
    interrupted = code == pytest.ExitCode.INTERRUPTED
    if code in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):
        print(said.getvalue(), file=sys.stderr)
    return to_json(grading.result(interrupted=interrupted)), interrupted


class _Hand:
    """Hands the prepared gradings to the plugin."""

    def __init__(self, gradings: Any) -> None:
        self._gradings = gradings

    def pytest_configure(self, config: Any) -> None:
        from grader import plugin

        config.stash[plugin.GRADINGS] = self._gradings


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

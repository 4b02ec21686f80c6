"""The loop in lines: what is printed for what has changed, and what is typed."""

from __future__ import annotations

import io
import shutil
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from loops import Script, after, begun, opened, result, small_course
from rich.console import RenderableType
from rich.text import Text
from syrupy.assertion import SnapshotAssertion
from traces import missing_mask

from grader.cli.loop import editors, keys, plain, session, state, transitions
from grader.cli.loop.plain import Plain
from grader.cli.loop.state import Loop
from grader.course import history, progress
from grader.model.outcomes import Status


@pytest.fixture
def loop(tmp_path: Path) -> Loop:
    return begun(tmp_path)


def said(before: Loop, *transitions: state.Transition) -> list[str]:
    """Return what is printed when these happen one after the other."""
    parts: list[RenderableType] = []
    for transition in transitions:
        later, _ = transition(before)
        parts += plain.said(before, later, 80)
        before = later
    return [part.plain if isinstance(part, Text) else repr(part) for part in parts]


def graded(number: int, name: str, status: Status) -> state.Transition:
    return partial(transitions.graded, number=number, result=result(name, status), waited_s=0.8)


def over(number: int) -> state.Transition:
    return partial(transitions.over, number=number)


def test_a_save_prints_its_report_and_last_the_next_step(loop: Loop, snapshot: SnapshotAssertion):
    looked = partial(transitions.looked, digest="a")
    lines = said(loop, looked, graded(1, "p01_copy", Status.FAIL), over(1))
    assert "\n".join(lines) == snapshot
    assert lines[-1].endswith("next: change kernel.py and save; h shows a hint")


def test_the_check_of_all_prints_a_line_for_each(loop: Loop):
    lines = said(
        loop,
        transitions.sweep,
        *(graded(1, "p01_copy", Status.PASS), over(1)),
        *(graded(2, "01_double", Status.FAIL), over(2)),
        *(partial(transitions.over, number=3, error="The judge ended."),),
    )
    assert lines == [
        "p01_copy: PASS 3/10",
        "01_double: FAIL 0/10",
        "02_row_sum: no verdict. The judge ended.",
        "All exercises are checked: 1 of 3 pass.",
    ]


def test_a_run_that_was_given_up_prints_nothing(loop: Loop):
    saves = [partial(transitions.looked, digest=one) for one in "ab"]
    assert said(loop, *saves) == ["checking p01_copy …"] * 2


def test_a_question_a_note_a_list_and_another_exercise(loop: Loop, snapshot: SnapshotAssertion):
    press = [partial(keys.press, letter=letter) for letter in ("x", "n", "p", "l")]
    moved = partial(transitions.arrive, name="02_row_sum")
    assert "\n".join(said(loop, *press, moved)) == snapshot


def test_lines_are_keys_or_names_of_exercises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    loop = begun(tmp_path)
    loop.exercise.kernel.write_text("# wait\n", encoding="utf-8")
    typed = "h\nh\n\nL\n?\n02\nx\ny\nnothing\nq\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    front, judge = Plain(), Script()
    made = opened(loop, judge, front, front.post)
    front.run(made)
    made.close()
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    for line in (
        "p01_copy: exercise 1 of 3, not begun",
        "1. Which thread am I?",
        "> ○ p01_copy",
        "show a hint, and each time you press it one more",
        "02_row_sum: exercise 3 of 3, not begun",
        "RESET kernel.py of 02_row_sum?",
        "There is no exercise named 'nothing'.",
    ):
        assert line in printed
    root = loop.exercise.root
    assert progress.read(root).current == "02_row_sum"
    assert progress.read(root).standings["p01_copy"].hints == 2
    assert judge.closed


def test_the_end_of_the_input_ends_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    front, judge = Plain(), Script()
    made = opened(begun(tmp_path), judge, front, front.post)
    front.run(made)
    made.close()
    assert judge.closed


def typed(
    root: Path, typing: Iterable[str] | None, monkeypatch: pytest.MonkeyPatch, **more: object
) -> None:
    """Run the loop over a course until it has read these lines; `more` takes the front's place."""
    monkeypatch.setattr("sys.stdin", typing)
    front = Plain()
    for name, instead in more.items():
        monkeypatch.setattr(front, name, instead)
    made = opened(session.first_loop(root, None), Script(), front, front.post)
    try:
        front.run(made)
    finally:
        made.close()


def test_an_editor_has_the_keyboard_to_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The loop went on to read, and each of them got some of the lines."""
    asked = threading.Event()

    def typing() -> Iterator[str]:
        yield "e\n"
        asked.set()
        yield "q\n"

    taken: list[bool] = []

    def edit(path: Path) -> str:
        taken.append(asked.wait(0.2))
        return ""

    typed(small_course(tmp_path), typing(), monkeypatch, edit=edit)
    assert taken == [False]
    assert asked.is_set(), "it reads again afterwards"


@pytest.mark.parametrize("line", [b"caf\xe9\n", b"p01\0\n", b"\n" + b"x" * 9000 + b"\n"])
def test_bytes_that_are_no_text_are_the_name_of_no_exercise(
    line: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """The thread that reads had died of them, and the loop heard nothing more."""
    typing = io.TextIOWrapper(io.BytesIO(line + b"02\n"), encoding="utf-8")
    typed(small_course(tmp_path), typing, monkeypatch)
    printed = capsys.readouterr().out
    assert "There is no exercise named" in printed
    assert "02_row_sum: exercise 3 of 3" in printed


def test_a_closed_input_ends_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    typed(small_course(tmp_path), None, monkeypatch)


def test_an_exercise_that_came_later_needs_another_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    root = small_course(tmp_path)

    def typing() -> Iterator[str]:
        shutil.copytree(root / "exercises" / "01_double", root / "exercises" / "03_later")
        yield "03\n"

    typed(root, typing(), monkeypatch)
    assert "03_later came after this loop had begun." in capsys.readouterr().out


def test_a_path_in_a_broken_exercise_is_answered_with_what_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    folder = small_course(tmp_path) / "exercises" / "01_double"
    (folder / "spec.py").write_text("SPEC = None\n", encoding="utf-8")
    typed(folder.parents[1], [f"{folder / 'kernel.py'}\n"], monkeypatch)
    assert "The exercise 01_double is broken" in " ".join(capsys.readouterr().out.split())


def test_without_a_terminal_no_editor_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    monkeypatch.setenv("VISUAL", "vi")
    assert Plain().edit(tmp_path / "kernel.py").endswith("in your editor; each save is checked.")


def test_without_an_editor_a_note_says_how_to_set_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    assert Plain().edit(Path("kernel.py").resolve()) == editors.none_set(Path("kernel.py"))


def test_a_file_or_an_exercise_that_cannot_be_graded_gets_no_verdict(loop: Loop):
    missing = partial(transitions.looked, digest=None)
    broken = partial(transitions.broken, message="SPEC", advice="")
    printed = said(loop, missing, missing, broken)
    assert [one.splitlines()[0] for one in printed] == [
        "NO VERDICT  kernel.py of p01_copy does not exist, or cannot be read.",
        "NO VERDICT  SPEC",
    ]


def test_a_note_keeps_its_paths_and_commands_in_one_piece(loop: Loop):
    note = "No editor is set: type `export EDITOR=nano` before `grader`, or open " + "a" * 30
    (printed,) = said(loop, partial(transitions.noted, note=note))
    assert printed.splitlines()[1] == "a" * 30


def test_a_report_is_whole_on_demand(loop: Loop):
    looked = partial(transitions.looked, digest="a")
    long = result("p01_copy", Status.FAIL, output="line\n" * 50)
    done = partial(transitions.graded, number=1, result=long, waited_s=0.8)
    short = "\n".join(said(loop, looked, done, over(1)))
    whole = "\n".join(said(replace(loop, whole=True), looked, done, over(1)))
    assert (short.count("| line"), whole.count("| line")) == (4, 50)
    assert after(loop, looked)[0].run is not None


def test_v_prints_the_report_again_in_full_and_then_what_fits(loop: Loop):
    """It printed nothing, and changed the next report."""
    looked = partial(transitions.looked, digest="a")
    long = result("p01_copy", Status.FAIL, output="line\n" * 50)
    done = partial(transitions.graded, number=1, result=long, waited_s=0.8)
    checked, _ = after(loop, looked, done, over(1))
    press = partial(keys.press, letter="v")
    for printed, lines_shown in ((said(checked, press), 50), (said(checked, press, press), 54)):
        assert "\n".join(printed).count("| line") == lines_shown
        assert printed[-1].endswith("next: change kernel.py and save; h shows a hint")
    assert "NOT CHECKED" in said(loop, press)[-1]
    assert said(after(loop, looked)[0], press) == [], "its report is printed when the check ends"


def test_the_picture_of_a_failing_case_is_kept_for_the_report(tmp_path: Path):
    """`grader report` draws it, as it does after `grader check`."""
    loop = begun(tmp_path)
    name, root = loop.current, loop.exercise.root
    silent = SimpleNamespace(show=lambda before, after: None)
    session = opened(loop, Script(), silent, lambda transition: None)
    session.loop = replace(loop, run=state.Run(1, name, state.Why.SAVED), runs=1)
    trace = missing_mask().model_copy(update={"exercise": name})
    session.happen(graded(1, name, Status.FAIL))
    session.happen(partial(transitions.traced, number=1, trace=trace))
    assert history.read(root / progress.STATE, name).picture == trace

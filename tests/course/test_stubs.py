"""Stubs: what a learner gets from a solution, and what is refused."""

from __future__ import annotations

import ast
import errno
import os
import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.course import catalog, stubs
from grader.model.errors import BrokenExercise, UsageError

SMALL = Path(__file__).parents[1] / "courses" / "small"


IN_STRING = """\
SOURCE = r\"\"\"
__global__ void add(const float* x, float* out) {
    int i = threadIdx.x;
    // BEGIN SOLUTION: add one
    out[i] = x[i] + 1;  // BEGIN of what a SOLUTION is
    // END SOLUTION
}
\"\"\"
MENTION = "// BEGIN SOLUTION"
"""


def test_code_in_a_string_becomes_a_comment_of_its_language():
    stub = stubs.make_stub(IN_STRING, "01_add")
    before, after = (
        IN_STRING.split("    // BEGIN SOLUTION")[0],
        IN_STRING.split("// END SOLUTION\n")[1],
    )
    assert stub == f"{before}    // TODO: add one\n{after}"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    // END SOLUTION\n", "", "line 4: this BEGIN SOLUTION has no END SOLUTION"),
        ("// BEGIN SOLUTION: add", "// begin solution: add", "line 4: this is not a marker"),
        ('"\nMENTION', '"\n# END SOLUTION\nMENTION', "line 9: this END SOLUTION has no BEGIN"),
    ],
)
def test_markers_in_a_string_pair_up(old: str, new: str, said: str):
    assert old in IN_STRING
    with pytest.raises(BrokenExercise, match=said):
        stubs.make_stub(IN_STRING.replace(old, new), "01_add", "kernel.py")


def test_host_code_raises_and_a_jitted_kernel_passes():
    source = """\
import triton


@triton.jit
def kernel(x, out, BLOCK: int):
    at = x + 1
    # BEGIN SOLUTION: add and store
    out[at] = x[at]
    # END SOLUTION


def host(x, out):
    if x:
        # BEGIN SOLUTION: launch
        kernel[1](x, out)
        # END SOLUTION
    return None
"""
    assert (
        stubs.make_stub(source, "01_double")
        == """\
import triton


@triton.jit
def kernel(x, out, BLOCK: int):
    at = x + 1
    # TODO: add and store
    pass


def host(x, out):
    if x:
        raise NotImplementedError("01_double: launch")
    return None
"""
    )


def test_a_marker_without_a_text_says_write_this_part():
    made = stubs.make_stub(function("# BEGIN SOLUTION", "secret()", "# END SOLUTION"), "e")
    assert 'raise NotImplementedError("e: write this part")' in made


@pytest.mark.parametrize(
    "decorators",
    [
        "@triton.jit",
        "@cuda.jit",
        "@numba.cuda.jit('void(float32[:])')",
        "@cuda.jit(device=True)",
        "@jit",
        "@triton.autotune(configs=[], key=[])\n@triton.jit",
        "@triton.jit\n@other",
    ],
)
def test_every_form_of_jit_is_a_kernel(decorators: str):
    source = function("# BEGIN SOLUTION: fill", "secret()", "# END SOLUTION")
    made = stubs.make_stub(f"{decorators}\n{source}", "e")
    assert "    # TODO: fill\n    pass\n" in made
    assert "raise" not in made


@pytest.mark.parametrize("decorators", ["@triton.testing", "@jit_me", "@cuda.jit.other", "@f(jit)"])
def test_other_decorators_are_host_code(decorators: str):
    source = function("# BEGIN SOLUTION: fill", "secret()", "# END SOLUTION")
    assert "raise NotImplementedError" in stubs.make_stub(f"{decorators}\n{source}", "e")


def test_a_function_inside_a_kernel_is_a_kernel():
    source = """\
@cuda.jit
def kernel(x):
    def inner(y):
        # BEGIN SOLUTION
        return y
        # END SOLUTION
"""
    assert "        pass\n" in stubs.make_stub(source, "e")


def test_a_kernel_inside_a_function_is_a_kernel():
    source = """\
def make(width):
    @cuda.jit
    def kernel(x):
        # BEGIN SOLUTION
        x[0] = width
        # END SOLUTION

    return kernel
"""
    assert "        pass\n" in stubs.make_stub(source, "e")


def test_a_long_text_is_folded():
    text = "read every block of the row again and " * 2 + "store it"
    for decorator in ("", "@triton.jit\n"):
        source = decorator + function(f"# BEGIN SOLUTION: {text}", "secret()", "# END SOLUTION")
        made = stubs.make_stub(source, "03_three_pass_softmax")
        assert max(map(len, made.splitlines())) <= stubs.WIDTH
        tree = ast.parse(made)
        raised = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise)]
        for call in raised:
            assert isinstance(call, ast.Call)
            assert ast.literal_eval(call.args[0]) == f"03_three_pass_softmax: {text}"
        assert bool(raised) is not bool(decorator)


def test_quotes_in_a_text_stay_quotes():
    source = function('# BEGIN SOLUTION: use "mask" and \\n', "secret()", "# END SOLUTION")
    with pytest.raises(NotImplementedError) as raised:
        run(stubs.make_stub(source, "e"))
    assert str(raised.value) == 'e: use "mask" and \\n'


def test_a_string_that_mentions_markers_is_left_alone():
    source = '"""Cut at\n# BEGIN SOLUTION\nand\n# END SOLUTION"""\n'
    source += function("# BEGIN SOLUTION", "secret()", "# END SOLUTION")
    assert stubs.make_stub(source, "e").startswith('"""Cut at\n# BEGIN SOLUTION\nand\n')


B, E = "# BEGIN SOLUTION", "# END SOLUTION"


def test_who_has_only_a_kernel_to_write_deletes_one_line():
    source = f"def entry(a):\n    {B}: write the kernel, then delete this line\n    {E}\n    k(a)\n"
    assert stubs.make_stub(source, "p01_map") == (
        "def entry(a):\n"
        '    raise NotImplementedError("p01_map: write the kernel, then delete this line")\n'
        "    k(a)\n"
    )


def test_a_kernel_s_region_must_hold_code(snapshot: SnapshotAssertion):
    source = f"@cuda.jit\ndef k(a):\n    {B}: add\n    {E}\n    a()\n"
    with pytest.raises(BrokenExercise) as caught:
        stubs.make_stub(source, "p01_map")
    assert text_of(caught.value) == snapshot


@pytest.mark.parametrize(
    ("lines", "line", "fault"),
    [
        ([B, "a()", B, "b()", E, E], 4, "the region of line 2 is still open"),
        ([B, "a()"], 2, "this BEGIN SOLUTION has no END SOLUTION"),
        (["a()", E], 3, "this END SOLUTION has no BEGIN SOLUTION"),
        ([B, E, "a()"], 2, "the region holds no code, and its marker has no text"),
        ([B, "# nothing", "", E, "a()"], 2, "the region holds no code, and its marker has no text"),
        (["a()  # BEGIN SOLUTION", E], 2, "this is not a marker: a()  # BEGIN SOLUTION"),
        (["# begin solution", "a()", E], 2, "this is not a marker: # begin solution"),
        (["#BEGIN SOLUTION", "a()", E], 2, "this is not a marker: #BEGIN SOLUTION"),
        (["# BEGIN_SOLUTION", "a()", E], 2, "this is not a marker: # BEGIN_SOLUTION"),
        ([B + " here", "a()", E], 2, "this is not a marker: # BEGIN SOLUTION here"),
        ([B, "a()", E + ": done"], 4, "this is not a marker: # END SOLUTION: done"),
        ([B, "a() +"], 3, "not valid Python"),
    ],
)
def test_a_fault_in_the_markers_names_file_line_and_remedy(lines: list[str], line: int, fault: str):
    with pytest.raises(BrokenExercise) as raised:
        stubs.make_stub(function(*lines), "e", "solutions/e/kernel.py")
    assert raised.value.message.startswith(f"solutions/e/kernel.py, line {line}: {fault}")
    assert "SOLUTION" in raised.value.next_step or "marked" in raised.value.next_step


@pytest.mark.parametrize(
    "source",
    [
        f"{B}\nx = 1\n{E}\n",
        f"def f():\n    pass\n\n\n{B}\nx = 1\n{E}\n",
        f"{B}\ndef f():\n    pass\n{E}\n",
        f"def f():\n    a()\n    {B}\n    b()\n\n\ndef g():\n    c()\n    {E}\n    d()\n",
        f"{B}\n@cuda.jit\n{E}\ndef f():\n    pass\n",
    ],
    ids=["module", "after-a-function", "whole-function", "two-functions", "decorator"],
)
def test_a_region_must_lie_inside_one_function(source: str, snapshot: SnapshotAssertion):
    with pytest.raises(BrokenExercise) as caught:
        stubs.make_stub(source, "e")
    assert text_of(caught.value) == snapshot


def test_a_solution_without_markers_gives_no_stub(snapshot: SnapshotAssertion):
    with pytest.raises(BrokenExercise) as caught:
        stubs.make_stub(function("secret()"), "e")
    assert text_of(caught.value) == snapshot


def test_a_stub_that_is_not_python_is_refused(snapshot: SnapshotAssertion):
    source = function("x = (", "    # BEGIN SOLUTION", "    1", "    # END SOLUTION", ")")
    with pytest.raises(BrokenExercise) as caught:
        stubs.make_stub(source, "e", "k.py")
    assert text_of(caught.value) == snapshot


NAMES = st.text("abcdefghij", min_size=5, max_size=9)
STATEMENTS = st.lists(NAMES.map("call_{}()".format), min_size=1, max_size=4)


@given(blocks=st.lists(st.tuples(STATEMENTS, STATEMENTS), min_size=1, max_size=4))
def test_what_is_outside_survives_and_what_is_inside_does_not(
    blocks: list[tuple[list[str], list[str]]],
):
    """Alternating open and secret lines, the secret ones between markers."""
    lines, outside, inside = [], [], []
    for number, (given_lines, secret_lines) in enumerate(blocks):
        outside += [f"{line}  # kept {number}" for line in given_lines]
        inside += [f"{line}  # cut {number}" for line in secret_lines]
        lines += [f"{line}  # kept {number}" for line in given_lines]
        lines += [B, *(f"{line}  # cut {number}" for line in secret_lines), E]
    made = stubs.make_stub(function(*lines), "e")
    assert [line.strip() for line in made.splitlines() if "# kept" in line] == outside
    assert not any(line in made for line in inside)
    assert made.endswith("\n")
    assert made.count("raise NotImplementedError") == len(blocks)


@pytest.mark.parametrize("solution", sorted(SMALL.glob("solutions/*/kernel.py")), ids=str)
def test_no_line_of_a_region_reaches_the_stub(solution: Path):
    source = solution.read_text(encoding="utf-8")
    made = stubs.make_stub(source, solution.parent.name)
    cut = False
    for line in map(str.strip, source.splitlines()):
        cut = (cut or line.startswith(B)) and not line.startswith(E)
        if len(line) > 5:
            assert (line in made) is not (cut or line.startswith(E)), line


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SMALL, tmp_path / "course"))


def test_the_small_course_has_not_drifted():
    assert not any(map(stubs.drifted, catalog.exercises(SMALL)))


def test_a_changed_or_missing_stub_has_drifted(copy: Path):
    exercise = catalog.find(copy, "01_double")
    exercise.kernel.write_text(exercise.kernel.read_text() + "\n")
    assert stubs.drifted(exercise)
    exercise.kernel.unlink()
    assert stubs.drifted(exercise)


def test_a_file_that_cannot_be_read_is_an_error_in_words(
    copy: Path, monkeypatch: pytest.MonkeyPatch
):
    exercise = catalog.find(copy, "01_double")
    denied = PermissionError(errno.EACCES, "Permission denied")
    monkeypatch.setattr(Path, "read_bytes", Mock(side_effect=denied))
    with pytest.raises(UsageError, match=r"01_double/kernel\.py cannot be read: Permission denied"):
        stubs.drifted(exercise)


def test_writing_spares_somebodys_work(copy: Path, snapshot: SnapshotAssertion):
    exercise = catalog.find(copy, "01_double")
    fresh = exercise.kernel.read_text()
    assert not stubs.write(exercise)
    exercise.kernel.write_text("my work")
    with pytest.raises(UsageError) as caught:
        stubs.write(exercise)
    assert text_of(caught.value, copy) == snapshot
    assert exercise.kernel.read_text() == "my work"
    assert stubs.write(exercise, force=True)
    assert exercise.kernel.read_text() == fresh


def test_a_missing_stub_is_written(copy: Path):
    exercise = catalog.find(copy, "01_double")
    fresh = exercise.kernel.read_text()
    exercise.kernel.unlink()
    assert stubs.write(exercise)
    assert exercise.kernel.read_text() == fresh


def test_a_course_without_solutions_makes_no_stub(copy: Path, snapshot: SnapshotAssertion):
    shutil.rmtree(copy / "solutions")
    with pytest.raises(UsageError) as caught:
        stubs.write(catalog.find(copy, "01_double"))
    assert text_of(caught.value, copy) == snapshot


def test_a_release_has_the_stub_itself(copy: Path):
    """Without solutions nobody could make it: `grader reset` failed in a released course."""
    exercise = catalog.find(copy, "01_double")
    stub = exercise.kernel.read_text()
    exercise.released_stub.parent.mkdir(parents=True)
    exercise.released_stub.write_text(stub)
    shutil.rmtree(copy / "solutions")
    exercise.kernel.unlink()
    assert stubs.recovery(exercise, exercise.kernel).startswith("`grader reset 01_double` ")
    assert stubs.stub_of(exercise) == stub


def test_who_has_solutions_is_told_how_to_make_the_stub_again(copy: Path):
    exercise = catalog.find(copy, "01_double")
    exercise.kernel.unlink()
    assert stubs.recovery(exercise, exercise.kernel).startswith("`grader reset 01_double` ")


def test_what_lies_in_the_place_of_a_kernel_is_moved_away_first(
    copy: Path, snapshot: SnapshotAssertion
):
    """`--force` was advised, which waits for ever at a pipe and fails at a folder."""
    exercise = catalog.find(copy, "01_double")
    for make in (os.mkfifo, lambda kernel: os.symlink("kernel.py", kernel)):
        exercise.kernel.unlink()
        make(exercise.kernel)
        told = stubs.recovery(exercise, exercise.kernel)
        assert told.startswith("Move it away: then `grader reset 01_double` ")
        with pytest.raises(UsageError) as caught:
            stubs.write(exercise, force=True)
        assert text_of(caught.value, copy) == snapshot


def test_who_has_none_is_not_told_to_make_a_stub(copy: Path):
    """Students and what they handed in: `grader stub` answered them that there is no solution."""
    exercise = catalog.find(copy, "01_double")
    assert "grader stub" not in stubs.recovery(exercise, copy / "handed_in" / "kernel.py")
    shutil.rmtree(copy / "solutions")
    assert "grader stub" not in stubs.recovery(exercise, exercise.kernel)


def function(*lines: str) -> str:
    return "def f():\n" + "".join(f"    {line}".rstrip() + "\n" for line in lines)


def run(source: str) -> None:
    """Call `f` of a stub."""
    namespace: dict[str, object] = {}
    exec(compile(source, "stub", "exec"), namespace)
    call = namespace["f"]
    assert callable(call)
    call()

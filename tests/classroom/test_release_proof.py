"""Wherever a line of a solution is planted, the release is refused; what is public is not."""

from __future__ import annotations

import io
import os
import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from released import libraries_read_once, order, small_course

from grader.classroom.release import build, contents, proof, repository, wheel
from grader.course import catalog, stubs
from grader.course.comments import without_comments
from grader.course.manifest import digest
from grader.model.errors import BrokenExercise

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
LINE = "tl.store(out_ptr + offsets, 2 * x, mask=inside)"
NAMED = f"line 13 of solutions/01_double/kernel.py, `{LINE}`"


@pytest.fixture(scope="module", autouse=True)
def _libraries_read_once() -> Iterator[None]:
    with libraries_read_once():
        yield


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return small_course(tmp_path / "course")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def refused(order_: build.Order, out: Path) -> str:
    """What the refusal says; nothing is left behind."""
    with pytest.raises(BrokenExercise) as raised:
        build.build(order_, out)
    assert raised.value.exit_code == 4
    assert sorted(set(os.listdir(out.parent)) - {"course"}) == []
    assert "Nothing was released" in raised.value.message
    return raised.value.message


def leaking(root: Path, *contents: tuple[str, bytes | str]) -> set[str]:
    """What of the secrets of the small course stands in these contents."""
    secret = proof.secrets(root, catalog.exercises(root))
    encoded = [(name, c.encode() if isinstance(c, str) else c) for name, c in contents]
    return {leak.what for leak in proof.leaks(encoded, secret)}


def append(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(text)


# -- each place


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("exercises/01_double/README.md", f"```python\n{LINE}\n```\n"),
        ("exercises/01_double/README.md", f"```\n{LINE}\n```\n"),
        ("exercises/01_double/README.md", f"- {LINE}\n"),
        ("exercises/02_row_sum/README.md", f"In the exercise before:\n\n    {LINE}\n"),
        ("exercises/01_double/spec.py", f"# {LINE}\n"),
        ("exercises/01_double/spec.py", f"TEXT = 'say `{LINE}`'\n"),
        ("exercises/01_double/test_kernel.py", f"def test():\n    {LINE}\n"),
        ("exercises/01_double/eager.py", f'"""{LINE}"""\n'),
        ("puzzles/README.md", f"| idea | {LINE} |\n"),
        ("LICENSE", f"{LINE}\n"),
    ],
)
def test_a_planted_line_is_found_and_named(root: Path, out: Path, place: str, text: str):
    append(root / place, text)
    assert f"{place} holds {NAMED}" in refused(order(root), out)


def test_a_line_in_the_title_is_found_in_every_file_that_it_comes_to(root: Path, out: Path):
    text = f'name = "small"\ntitle = "{LINE}"\nversion = "1.0"\n'
    (root / "course.toml").write_text(text)
    told = refused(order(root, git=True), out)
    for place in (".git/COMMIT_EDITMSG", "(commit)", "README.md", "course.toml"):
        assert f"{place} holds {NAMED}" in told


def test_a_line_in_the_ci_file_is_found(root: Path, out: Path):
    append(root / "classroom/github/check.yml", f"# {LINE}\n")
    told = refused(order(root, ci="github"), out)
    assert f".github/workflows/check.yml holds {NAMED}" in told


def test_a_line_in_the_grader_itself_is_found(root: Path, out: Path, monkeypatch):
    # A few of its files stand for all: that the others hold no solution is proven below.
    package = dict(islice(wheel._package(), 20))
    members = package | {"grader/answers.py": f"def f():\n    {LINE}\n".encode()}
    monkeypatch.setattr(wheel, "_package", lambda: iter(members.items()))
    told = refused(order(root, grader=None), out)
    assert f"wheels/{wheel.file_name()}/grader/answers.py holds {NAMED}" in told


def test_a_line_in_an_object_that_no_commit_knows_is_found(root: Path, out: Path, monkeypatch):
    def commit_and_lose(folder: Path, message: str) -> None:
        original(folder, message)
        lost = subprocess.run(
            ["git", "hash-object", "-w", "--stdin"],
            cwd=folder,
            input=f"{LINE}\n".encode(),
            check=True,
            capture_output=True,
        )
        names.append(lost.stdout.decode().strip())

    names: list[str] = []
    original = repository.commit_all
    monkeypatch.setattr(repository, "commit_all", commit_and_lose)
    told = refused(order(root, git=True), out)
    assert f"the git object {names[0]} (blob) holds {NAMED}" in told


def test_a_line_of_an_earlier_commit_is_found(root: Path, out: Path, monkeypatch):
    def commit_twice(folder: Path, message: str) -> None:
        append(folder / "draft.py", f"{LINE}\n")
        original(folder, message)
        (folder / "draft.py").unlink()
        repository._git(folder, "commit", "--quiet", "--all", "--message=cleaned up")

    original = repository.commit_all
    monkeypatch.setattr(repository, "commit_all", commit_twice)
    assert f"(blob) holds {NAMED}" in refused(order(root, git=True), out)


def test_a_line_of_an_exercise_that_is_not_released_is_found(root: Path, out: Path):
    append(root / "exercises/02_row_sum/README.md", f"    {LINE}\n")
    assert NAMED in refused(order(root, "02_row_sum"), out)


def test_a_whole_solution_wrong_kernel_or_its_digest_is_found(root: Path, out: Path):
    solution = root / "solutions/01_double/kernel.py"
    wrong = root / "solutions/01_double/wrong_nothing.py"
    wrong.write_text('"""Does nothing."""\n')  # no line of it is one of the solution
    append(root / "solutions/01_double/survivors.toml", "# nothing\n")
    (root / "LICENSE").write_bytes(wrong.read_bytes())
    append(root / "exercises/01_double/README.md", digest(solution.read_bytes()).upper())
    told = refused(order(root), out)
    assert "LICENSE holds the file solutions/01_double/wrong_nothing.py" in told
    assert "README.md holds the SHA-256 of solutions/01_double/kernel.py" in told
    held_out = order(root, extra=(Path("solutions/01_double/survivors.toml"),))
    assert "holds the file solutions/01_double/survivors.toml" in refused(held_out, out)


FAST = """\
import torch
from cuda.bindings import driver

TILE = 4 * threads


def double(x, out):
    error, grid = driver.ask(TILE)
    if error != driver.CUresult.CUDA_SUCCESS:
        raise RuntimeError
    launch[grid, TILE](out, x, order="backwards")
"""


def test_two_lines_of_a_fast_solution_are_found(root: Path, out: Path):
    """It has no markers: no learner gets a stub of it."""
    (root / "solutions/01_double/fast.py").write_text(FAST)
    (root / "solutions/01_double/wrong_alike.py").write_text(FAST.replace("backwards", "as it is"))
    lines = FAST.splitlines()
    append(root / "exercises/01_double/README.md", "\n".join(lines[3:8]))
    pair = "line 7 of solutions/01_double/fast.py, `def double(x, out): / error, grid ="
    assert pair in refused(order(root), out)


@pytest.mark.parametrize("first", [1, 9], ids=["imports", "one-line"])
def test_what_every_kernel_of_a_library_needs_is_no_secret_of_a_fast_one(root: Path, first: int):
    (root / "solutions/01_double/fast.py").write_text(FAST)
    lines = FAST.splitlines()[first - 1 : first + (first == 1)]
    assert leaking(root, ("file", "\n".join(lines))) == set()


def test_a_fast_solution_that_python_cannot_read_is_named(root: Path, out: Path):
    (root / "solutions/01_double/fast.py").write_text("def double(:\n")
    with pytest.raises(BrokenExercise, match=r"fast\.py"):
        build.build(order(root), out)


def test_a_message_names_no_more_than_some(root: Path, out: Path):
    source = (root / "solutions/01_double/kernel.py").read_text()
    for name in ("README.md", "eager.py", "test_kernel.py"):
        append(root / "exercises/02_row_sum" / name, source)
    told = refused(order(root), out).splitlines()
    assert len(told) == 1 + proof.MOST_NAMED + 1
    assert told[-1].strip().startswith("and ")


# -- each form


@pytest.mark.parametrize(
    "text",
    [
        LINE,
        "tl.store( out_ptr+offsets,2*x,mask = inside )",
        "tl.store(\n    out_ptr + offsets,\n    2 * x, mask=inside)",
        f"x = 1; {LINE}  # there",
        f"the answer:{LINE}.",
        f'"{LINE}\\n"',
        LINE.encode("utf-16"),
        LINE.encode("utf-32-be"),
        f"\xff\xfe {LINE}".encode("latin-1"),
    ],
)
def test_a_line_is_found_in_every_form(root: Path, text: str | bytes):
    assert NAMED in leaking(root, ("file", text))


@pytest.mark.parametrize(
    "text",
    [
        "my" + LINE,  # another name
        LINE.replace("inside", "insides"),
        LINE.replace("2", "3"),
        "tl.store(out_ptr + offsets, 2 * y, mask=inside)",
    ],
)
def test_another_line_is_none(root: Path, text: str):
    assert leaking(root, ("file", text)) == set()


def test_a_member_of_a_zip_file_in_a_zip_file_is_found(root: Path):
    inner, outer = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("deep.py", LINE)
    with zipfile.ZipFile(outer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner.zip", inner.getvalue())
    assert leaking(root, ("outer.zip", outer.getvalue())) == {NAMED}


@pytest.mark.parametrize("form", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_zip_file_that_cannot_be_opened_is_refused(root: Path, form: int):
    packed, name = io.BytesIO(), b"deep.py"
    with zipfile.ZipFile(packed, "w", form) as archive:
        archive.writestr(name.decode(), LINE)
    content = bytearray(packed.getvalue())
    content[content.index(name) + len(name)] = 0x07  # the first byte of the member
    broken = bytes(content)
    with pytest.raises(BrokenExercise, match=r"a\.zip is a zip file that cannot be searched"):
        leaking(root, ("a.zip", broken))


# -- small lines, and lines that follow each other

PUZZLE = """\
from numba import cuda


@cuda.jit
def copy_kernel(x, out):
    # BEGIN SOLUTION
    t = cuda.grid(1)  # which thread
    # Nothing beyond the end.
    if t < 9:
        cuda.syncthreads()
    else:
        return
    # END SOLUTION


def copy(x, out):
    copy_kernel[1, 64](x, out)
"""


@pytest.fixture
def puzzle(root: Path) -> Path:
    (root / "solutions/p01_copy/kernel.py").write_text(PUZZLE)
    return root


@pytest.mark.parametrize("line", ["cuda.syncthreads()", "else:", "return", "if t < 9:"])
def test_a_small_line_alone_is_no_secret(puzzle: Path, line: str):
    assert leaking(puzzle, ("file", line)) == set()


def test_two_small_lines_one_after_the_other_do(puzzle: Path):
    pair = "line 9 of solutions/p01_copy/kernel.py, `if t < 9: / cuda.syncthreads()`"
    for text in (
        "if t < 9:\n    cuda.syncthreads()\n",
        "if t < 9:  # inside\n\n    # wait\n    cuda.syncthreads()\n",
        "# if t < 9:\n#     cuda.syncthreads()\n",
        "> if t < 9:\n>     cuda.syncthreads()\n",
        "+ if t < 9:\n+     cuda.syncthreads()\n",
    ):
        assert leaking(puzzle, ("file", text)) == {pair}, text
    assert leaking(puzzle, ("file", "if t < 9:\n    x = 1\n    cuda.syncthreads()\n")) == set()
    assert leaking(puzzle, ("file", "else:\n    return\n")) == set()


def test_comments_of_a_solution_are_no_secret(puzzle: Path):
    assert leaking(puzzle, ("file", "# Nothing beyond the end.\n# which thread\n")) == set()


# -- what is public


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("exercises/01_double/README.md", f"Store with `{LINE}`.\n"),
        ("exercises/01_double/spec.py", f"HINT = {LINE!r}\n"),
        ("puzzles/README.md", f"{LINE}\n"),
    ],
)
def test_what_a_hint_quotes_is_public_everywhere(root: Path, out: Path, place: str, text: str):
    spec = root / "exercises/01_double/spec.py"
    quoted = spec.read_text().replace('"Multiply it by two."', f'"Twice, then `{LINE}`."')
    spec.write_text(quoted)
    append(root / place, text)
    build.build(order(root), out)


def test_what_a_hint_quotes_of_an_exercise_that_comes_later_is_not(root: Path, out: Path):
    append(root / "exercises/01_double/README.md", f"Store with `{LINE}`.\n")
    append(root / "puzzles/README.md", f"{LINE}\n")
    assert f"puzzles/README.md holds {NAMED}" in refused(order(root, "p01_copy"), out)


def test_public_lines_that_follow_each_other_are_a_secret(root: Path, out: Path):
    lesson = root / "exercises/01_double/README.md"
    other = "x = tl.load(x_ptr + offsets, mask=inside)"
    append(lesson, f"Read with `{other}` and write with `{LINE}`.\n")
    build.build(order(root), out)
    append(lesson, f"\n    {other}\n    {LINE}\n")
    out = out.with_name("second")
    with pytest.raises(BrokenExercise) as raised:
        build.build(order(root), out)
    assert f"line 12 of solutions/01_double/kernel.py, `{other} / {LINE}`" in raised.value.message


def test_what_a_stub_shows_is_public(root: Path, out: Path):
    """A line outside of the markers, in this or another exercise, is in students' hands."""
    append(root / "exercises/02_row_sum/README.md", "    out[i] = x[i]\n")
    first = refused(order(root), out)
    assert "`out[i] = x[i]`" in first
    shown = root / "solutions/02_row_sum/kernel.py"
    append(shown, "\n\ndef helper(out, x, i):\n    if i < x.size:\n        out[i] = x[i]\n")
    build.build(order(root), out)
    assert "out[i] = x[i]" not in stubs.stub_of(catalog.find(root, "p01_copy"))


def test_the_whole_course_and_each_exercise_of_it_can_be_released():
    """What lessons, hints and the grader say of this course gives none of its solutions away."""
    exercises = catalog.exercises(ROOT)
    whole = contents.collect(ROOT, exercises, None, ()).files
    # Few passages stand anywhere in the course, mostly where a hint quotes them. Only these can
    # leak from a part of it, so they alone are looked for in each.
    unshown = proof.secrets(ROOT, ())
    said = {leak.what for leak in proof.leaks([*whole.items()], unshown)}
    for chosen in [exercises, *([one] for one in exercises)]:
        files = contents.collect(ROOT, chosen, None, ()).files
        assert files.items() <= whole.items()
        secret = proof.secrets(ROOT, chosen)
        assert set(secret.passages) <= set(unshown.passages)
        there = tuple(one for one in secret.passages if name_of(one) in said)
        assert proof.leaks([*files.items()], replace(secret, passages=there)) == []
    # Not a line of it that only the lesson of an exercise that stays behind shows, either.
    assert proof.leaks([*wheel._package()], unshown) == []


def name_of(passage: proof.Passage) -> str:
    return f"line {passage.line} of {passage.source}, `{passage.text}`"


def test_every_solution_of_the_course_is_refused_in_a_lesson():
    """Whole, without its comments, and as a comment."""
    secret = proof.secrets(ROOT, catalog.exercises(ROOT))
    written = [one for each in catalog.exercises(ROOT) for one in each.in_all_backends]
    fast = [one.fast for one in catalog.exercises(ROOT) if one.fast.is_file()]
    solutions = [*(one.solution for one in written), *fast]
    assert secret.solutions == len(solutions)
    for path in solutions:
        source = path.read_text()
        place = path.relative_to(ROOT).as_posix()
        commented = "".join(f"# {line}\n" for line in source.splitlines())
        bare = "\n".join(without_comments(source))
        for text in (source + "\n", commented, bare):
            found = proof.leaks([("README.md", text.encode())], secret)
            assert any(place in leak.what for leak in found), place

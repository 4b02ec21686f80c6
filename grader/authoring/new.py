"""`grader new`: an exercise that begins as a working copy of another one, under its own name.

The copy has the tests and the solution of its model, so it verifies from the first minute. Whatever
the author breaks shows at once. Places that still describe the model are marked `TODO(author)`.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import textwrap
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from grader.authoring import lesson
from grader.authoring.lesson import TODO
from grader.course import Exercise, catalog, stubs
from grader.grading import kind_of
from grader.model import BrokenExercise, UsageError, fill_folder, replacing_folder

LONGEST = 64  # characters of a name: it is in tables and at the head of every report
# A puzzle's letter is that of its language; each letter counts from 01.
SHELVES = {"": "exercises", "p": "puzzles", "t": "puzzles"}
_NAME = re.compile(r"(?P<prefix>[pt]?)(?P<number>\d{2,})_[A-Za-z][A-Za-z0-9_]*", re.ASCII)

# The author's task for each file, put where the author begins to read.
_MARKS = {
    "spec.py": "this still describes the model. Go through the functions above, then "
    "through SPEC from the title to the hints.",
    "test_kernel.py": "two properties or more of every right output.",
    "eager.py": "the same in torch's own functions, or delete this file.",
    "survivors.toml": "delete this file; what `grader verify` then shows may need a new one.",
    "kernel.py": "your own solution; the line above tells a learner what is missing.",
}
_WRONG = "a mistake that learners make, or delete this file."
_OTHER = "look through this file."


@dataclass(frozen=True)
class Draft:
    """A new exercise that is not written yet.

    `files` are those of its folder, and `answers` those of its solution's, each by its path inside.
    """

    exercise: Exercise
    model: Exercise
    title: str
    files: Mapping[Path, bytes]
    answers: Mapping[Path, bytes]


def draft(root: Path, name: str, like: str | None) -> Draft:
    """Make all files of the exercise `name` from those of the exercise `like`.

    Raises UsageError for a name that is invalid or taken, and for a model that does not exist, is
    on the other shelf, or lacks a file that is needed. Raises BrokenExercise for a model whose
    solution makes no stub.
    """
    shelf = _shelf_of(name)
    model = _model(root, shelf, name, like)
    exercise = Exercise(root / shelf / name)
    _must_be_free(exercise)
    title = name.partition("_")[2].replace("_", " ").strip().capitalize()
    spec, kind = replace(model.any_spec, title=title), kind_of(model.any_spec)
    written_in = model.in_all_backends
    for one in written_in:
        stubs.stub_of(one, kind.stub)  # or what is wrong with its solution
    stub_files = [one.file for one in written_in]
    files = dict(_copied(model.folder, model, exercise, title, (*stub_files, "README.md")))
    # Texts and a fast solution are about the model's solution alone.
    own = {path.name for one in written_in for path in (one.commentary, one.fast)}
    own.add(model.fast.with_suffix(".md").name)
    answers = dict(_copied(model.answers, model, exercise, title, own))
    for one in written_in:
        solution = answers[Path(one.file)].decode()
        files[Path(one.file)] = kind.stub(solution, name, str(one.solution)).encode()
    files[Path("README.md")] = lesson.skeleton(exercise, spec).encode()
    return Draft(exercise, model, title, files, answers)


def write(made: Draft) -> None:
    """Put both folders in their places, whole or not at all. Raises UsageError."""
    folder, answers = made.exercise.folder, made.exercise.answers
    try:
        with ExitStack() as undo:
            with replacing_folder(folder) as new:  # moved last: the folder is the registration
                with replacing_folder(answers) as new_answers:
                    fill_folder(new, made.files)
                    fill_folder(new_answers, made.answers)
                    _must_be_free(made.exercise)  # writing took its time
                undo.callback(shutil.rmtree, answers)
            undo.pop_all()
    except OSError as error:
        raise UsageError(
            f"{made.exercise.name} cannot be written in {made.exercise.root}: {error.strerror}.",
            "Nothing was changed. Free disk space, or check who may write to the course's folders.",
        ) from None


def _shelf_of(name: str) -> str:
    """Return the shelf of an exercise of this name. Raises UsageError for an invalid name."""
    match = _NAME.fullmatch(name)
    if match is None or len(name) > LONGEST:
        raise UsageError(
            f"{name!r} cannot be the name of an exercise.",
            "Take a number, `_`, and a word of letters, digits and `_`, such as 40_my_op; for a "
            f"puzzle, p40_my_op. At most {LONGEST} characters.",
        )
    return SHELVES[match["prefix"]]


def _model(root: Path, shelf: str, name: str, like: str | None) -> Exercise:
    if like is None:
        known = ", ".join(e.name for e in catalog.exercises(root) if e.folder.parent.name == shelf)
        raise UsageError(
            f"--like is missing: {name} begins as a copy of another exercise.",
            f"Add --like and the exercise whose form is nearest: {known or 'there is none'}.",
        )
    model = catalog.find(root, like)
    if model.folder.parent.name != shelf:
        raise UsageError(
            f"{model.name} is in {model.folder.parent.name}/, and {name} would be in {shelf}/.",
            "A puzzle is made like a puzzle, and is named p40_my_op; an exercise like an exercise, "
            "and is named 40_my_op.",
        )
    if not model.solution.is_file():
        raise UsageError(
            f"{model.name} has no solution to copy: {model.solution} is missing.",
            "A learner's copy of a course has none: write exercises in the course itself.",
        )
    if not model.tests.is_file():
        raise UsageError(
            f"{model.name} is not whole: {model.tests} is missing.", "Take another for --like."
        )
    return model


def _must_be_free(exercise: Exercise) -> None:
    for folder in (exercise.folder, exercise.answers):
        if os.path.lexists(folder):
            raise UsageError(
                f"{folder} exists already; nothing was changed.",
                "Choose another name.",
            )
    prefix, number = _numbered(exercise.name) or ("", 0)
    known = {path.name: _numbered(path.name) for path in exercise.folder.parent.iterdir()}
    taken = {found[1]: name for name, found in known.items() if found and found[0] == prefix}
    if number in taken:
        rest = exercise.name.partition("_")[2]
        raise UsageError(
            f"The number of {exercise.name} is taken by {taken[number]}.",
            f"{prefix}{max(taken) + 1:02d}_{rest} is free.",
        )


def _numbered(name: str) -> tuple[str, int] | None:
    match = _NAME.fullmatch(name)
    return (match["prefix"], int(match["number"])) if match else None


def _copied(
    folder: Path, model: Exercise, made: Exercise, title: str, leave_out: Collection[str] = ()
) -> Iterator[tuple[Path, bytes]]:
    """Yield the files of one of the model's folders, under the new name. Raises UsageError."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        hidden = any(part == "__pycache__" or part[0] == "." for part in inside.parts)
        if hidden or str(inside) in leave_out or not path.is_file():
            continue
        try:
            content = path.read_bytes()
        except OSError as error:
            raise UsageError(
                f"{path} cannot be read: {error.strerror}.", "Check its permissions."
            ) from None
        yield inside, _converted(path, content, model, made, title)


def _converted(path: Path, content: bytes, model: Exercise, made: Exercise, title: str) -> bytes:
    """Return the model's file as the new exercise's; a file that is not text is not changed."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return content
    text = re.sub(rf"(?<![A-Za-z0-9_]){re.escape(model.name)}(?![A-Za-z0-9_])", made.name, text)
    if path.suffix == ".toml":
        return f"{_author_comment(path)}{text}".encode()
    if path.suffix != ".py":
        return text.encode()  # elsewhere # may not begin a comment
    text = _replace_title(text, model.any_spec.title, title)
    if path in [one.solution for one in model.in_all_backends]:
        (first, *_) = stubs.regions(text, str(path))
        return _insert_lines(
            text, first.first, _author_comment(path, first.indent, first.sign)
        ).encode()
    if path == model.folder / "spec.py":
        text = _set_spec_title(text, title, str(path))
        return _insert_lines(text, _lines_above_spec(text), _author_comment(path)).encode()
    if row := _last_line_of_docstring(text):
        return _insert_lines(text, row, f"\n{_author_comment(path)}").encode()
    return f"{_author_comment(path)}{text}".encode()


def _author_comment(path: Path, indent: str = "", sign: str = "#") -> str:
    text = _WRONG if path.name.startswith("wrong_") else _MARKS.get(path.name, _OTHER)
    head = f"{indent}{sign} "
    return "".join(
        f"{head}{line}\n" for line in textwrap.wrap(f"{TODO} {text}", stubs.WIDTH - len(head))
    )


def _insert_lines(text: str, row: int, more: str) -> str:
    lines = text.split("\n")
    return "\n".join([*lines[:row], more.removesuffix("\n"), *lines[row:]])


def _replace_title(source: str, old: str, new: str) -> str:
    return re.sub(rf'\A"""{re.escape(old)}(?!\w)', lambda _: f'"""{new}', source)


def _set_spec_title(source: str, title: str, path: str) -> str:
    """Replace `title="..."` in the source of a spec. Raises BrokenExercise."""
    titles = [
        keyword.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "Spec"
        for keyword in node.keywords
        if keyword.arg == "title" and isinstance(keyword.value, ast.Constant)
    ]
    if len(titles) != 1 or titles[0].end_lineno != titles[0].lineno:
        raise BrokenExercise(
            f'{path} has no line title="..." in its Spec(...) that could hold a new title.',
            "Write the title there as one string.",
        )
    (old,) = titles
    lines = source.split("\n")
    line = lines[old.lineno - 1].encode()  # the columns of ast count bytes
    renewed = line[: old.col_offset] + f'"{title}"'.encode() + line[old.end_col_offset :]
    lines[old.lineno - 1] = renewed.decode()
    return "\n".join(lines)


def _lines_above_spec(source: str) -> int:
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SPEC":
            return node.lineno - 1
    return 0


def _last_line_of_docstring(source: str) -> int:
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a mistake that is rejected when it is loaded
        return 0
    return (tree.body[0].end_lineno or 0) if ast.get_docstring(tree) is not None else 0

"""From a model solution to the stub that a learner starts from.

A release has no solutions, and holds the stubs themselves, in `.stubs/`.

A solution marks the parts that the learner writes, each marker alone on its line:

    # BEGIN SOLUTION: add up the squares of the row
    total = tl.sum(x * x, axis=0)
    # END SOLUTION

In the stub such a region becomes `raise NotImplementedError`. Inside a jitted kernel it becomes
`pass`, because a compiler would reject the `raise`. The text after the colon names the missing
part. A learner may have only a kernel to write: then the function that launches it has a region
without code. It becomes a `raise` that the learner deletes. Everything outside the regions is
copied unchanged.

A solution may hold code of another language in a string, such as C++. There the markers begin with
`//`, and the region becomes such a comment.
"""

from __future__ import annotations

import ast
import json
import os
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.course.comments import comments_of
from grader.course.exercise import STUBS, Exercise, text_of
from grader.model import BrokenExercise, UsageError, write_file

DEFAULT_TEXT = "write this part"
WIDTH = 100  # characters of a line, as for all code of a course
_MENTION = re.compile(r"\b(BEGIN|END)[ _-]*SOLUTION\b", re.IGNORECASE)
_MARKER = re.compile(r"(?P<sign>#|//) (?P<word>BEGIN|END) SOLUTION(?:: *(?P<text>\S.*))?")
_IN_STRING = re.compile(r"\s*(?P<comment>//.*)")

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Region:
    """Lines `first` to `last`, counted from 1, with both markers; `indent` is that of BEGIN.

    `sign` begins a comment there.
    """

    first: int
    last: int
    indent: str
    text: str
    sign: str


def make_stub(source: str, name: str, path: str = "kernel.py") -> str:
    """Make the stub of the exercise `name` from its solution. Raises BrokenExercise.

    Messages call the file `path`.
    """
    source = re.sub(r"\r\n?", "\n", source)  # as from a file: Python ends a line at each of them
    tree = _parse(source, path)
    marked = list(regions(source, path))
    if not marked:
        raise BrokenExercise(
            f"{path} marks no part as the solution: its stub would be the whole solution.",
            "Put `# BEGIN SOLUTION` and `# END SOLUTION` around the part that the learner writes.",
        )
    functions = [node for node in ast.walk(tree) if isinstance(node, _Function)]
    lines = source.removesuffix("\n").split("\n")
    output: list[str] = []
    done = 0  # lines of the source that are in the output, as they are or replaced
    for region in marked:
        output += lines[done : region.first - 1]
        if region.sign == "#":
            output += _replacement(region, _is_jitted(region, functions, lines, path), name)
        else:
            output += _todo(region)
        done = region.last
    stub = "\n".join(output + lines[done:]) + "\n"
    _parse(stub, f"the stub of {path}")
    return stub


# Makes a stub from a solution's source, the exercise's name, and the path that messages show.
StubMaker = Callable[[str, str, str], str]


def stub_of(exercise: Exercise, make: StubMaker = make_stub) -> str:
    """Make an exercise's stub from its solution, or read the one that a release holds.

    Raises BrokenExercise, and UsageError where neither is there.
    """
    if not exercise.solution.is_file() and exercise.released_stub.is_file():
        return text_of(exercise.released_stub)
    if not exercise.solution.is_file():
        raise UsageError(
            f"There is no solution to make a stub from: {exercise.solution} is missing.",
            f"A learner's copy of a course has none, and stubs in {STUBS}/ that `grader update` "
            f"brings; else copy {exercise.file} again from the course.",
        )
    source = text_of(exercise.solution)
    return make(source, exercise.folder.name, str(exercise.solution))


def drifted(exercise: Exercise, make: StubMaker = make_stub) -> bool:
    """Report whether the learner's file is missing or differs from the stub of its solution.

    Raises as `stub_of` does, and UsageError where the file cannot be read.
    """
    stub = stub_of(exercise, make)
    try:
        return not exercise.kernel.is_file() or exercise.kernel.read_bytes() != stub.encode()
    except OSError as error:
        raise UsageError(
            f"{exercise.kernel} cannot be read: {error.strerror}.", "Check its permissions."
        ) from None


def write(exercise: Exercise, force: bool = False, make: StubMaker = make_stub) -> bool:
    """Write the learner's file; return False when it was right already.

    Raises UsageError where the path is not a file. Unless `force`, raises it also when the file
    holds something else, because that is somebody's work.
    """
    stub = stub_of(exercise, make)
    if not drifted(exercise, make):
        return False
    if os.path.lexists(exercise.kernel) and not exercise.kernel.is_file():
        # Reading a pipe would wait for ever.
        raise UsageError(f"{exercise.kernel} is not a file.", recovery(exercise, exercise.kernel))
    if exercise.kernel.exists() and not force:
        raise UsageError(
            f"{exercise.kernel} differs from the stub; somebody may have worked on it.",
            f"`grader stub {exercise.name} --force` overwrites it for good.",
        )
    write_file(exercise.kernel, stub)
    return True


def recovery(exercise: Exercise, kernel: Path) -> str:
    """Suggest how to get back a kernel file to work on."""
    sources = (exercise.solution, exercise.released_stub)
    if kernel == exercise.kernel and any(path.is_file() for path in sources):
        away = "Move it away: then " if os.path.lexists(kernel) and not kernel.is_file() else ""
        return f"{away}`grader reset {exercise.name}` writes the stub to start from."
    return f"Take {kernel.name} again from your last commit, or begin with the course's stub."


def _parse(source: str, path: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise _unreadable(path, error) from error
    except (ValueError, RecursionError, MemoryError) as error:
        # Bytes of value 0 (before Python 3.11.4), halves of characters, nesting without end.
        raise BrokenExercise(
            f"{path}: Python cannot read it: {error or 'it is nested too deeply'}",
            "Write it as UTF-8, with nothing nested hundreds of levels deep.",
        ) from error


def _unreadable(path: str, error: SyntaxError) -> BrokenExercise:
    line = f", line {error.lineno}" if error.lineno else ""
    return BrokenExercise(
        f"{path}{line}: not valid Python: {error.msg}",
        "Let each marked region hold whole statements, indented like its BEGIN marker.",
    )


def regions(source: str, path: str) -> Iterator[Region]:
    """Yield the marked regions in order. A string's markers are comments of C++ in it.

    Raises BrokenExercise where markers do not pair up. Messages call the file `path`.
    """
    opened: tuple[int, str, str, str] | None = None
    for line, before, comment in _comments(source, path):
        if not _MENTION.search(comment):
            continue
        marker = _MARKER.fullmatch(comment.rstrip())
        if marker is None or before.strip() or (marker["word"] == "END" and marker["text"]):
            raise _misplaced(path, line, f"this is not a marker: {(before + comment).strip()}")
        if marker["word"] == "BEGIN":
            if opened:
                raise _misplaced(path, line, f"the region of line {opened[0]} is still open")
            opened = (line, before, marker["text"] or DEFAULT_TEXT, marker["sign"])
        else:
            if not opened or opened[3] != marker["sign"]:
                raise _misplaced(path, line, "this END SOLUTION has no BEGIN SOLUTION")
            yield Region(opened[0], line, *opened[1:])
            opened = None
    if opened:
        raise _misplaced(path, opened[0], "this BEGIN SOLUTION has no END SOLUTION")


def _comments(source: str, path: str) -> list[tuple[int, str, str]]:
    """List the comments with their lines, and what stands before them on these."""
    try:
        own = comments_of(source)
    except SyntaxError as error:
        raise _unreadable(path, error) from error
    of_python = [
        (token.start[0], token.line[: token.start[1]], token.line[token.start[1] :].rstrip("\n"))
        for token in own
    ]
    return sorted([*of_python, *_in_strings(source, path)])


def _in_strings(source: str, path: str) -> Iterator[tuple[int, str, str]]:
    lines = source.split("\n")
    texts = {
        number
        for node in ast.walk(_parse(source, path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for number in range(node.lineno + 1, node.end_lineno or 0)
    }
    for number in sorted(texts):
        if found := _IN_STRING.fullmatch(lines[number - 1]):
            yield number, lines[number - 1][: found.start("comment")], found["comment"]


def _misplaced(path: str, line: int, fault: str) -> BrokenExercise:
    return BrokenExercise(
        f"{path}, line {line}: {fault}",
        "Write `# BEGIN SOLUTION` or `# BEGIN SOLUTION: what is missing`, then `# END SOLUTION`, "
        "each alone on its line and never one pair inside another.",
    )


def _is_jitted(region: Region, functions: list[_Function], lines: list[str], path: str) -> bool:
    """Report whether the region's function is a jitted kernel.

    Raises BrokenExercise for a region outside of functions.
    """
    code = [
        number
        for number in range(region.first + 1, region.last)
        if lines[number - 1].strip() and not lines[number - 1].lstrip().startswith("#")
    ]
    if not code and region.text == DEFAULT_TEXT:
        raise _misplaced(
            path,
            region.first,
            "the region holds no code, and its marker has no text",
        )
    last = code[-1] if code else region.last
    around = [f for f in functions if f.lineno < region.first and (f.end_lineno or 0) >= last]
    if not around:
        raise BrokenExercise(
            f"{path}, line {region.first}: the region is not inside one function",
            "Put the markers inside the function's body: a learner gets whole functions to fill.",
        )
    jitted = any(_names_jit(decorator) for f in around for decorator in f.decorator_list)
    if jitted and not code:
        raise _misplaced(path, region.first, "a kernel's region holds no code")
    return jitted


def _names_jit(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(called).split(".")[-1] == "jit"


def _replacement(region: Region, jitted: bool, name: str) -> list[str]:
    if jitted:
        return [*_todo(region), f"{region.indent}pass"]
    message = json.dumps(f"{name}: {region.text}", ensure_ascii=False)
    line = f"{region.indent}raise NotImplementedError({message})"
    if len(line) <= WIDTH:
        return [line]
    return list(_folded(f"{name}: {region.text}", region.indent))


def _todo(region: Region) -> list[str]:
    begins = f"{region.indent}{region.sign} "
    return textwrap.wrap(
        f"TODO: {region.text}", WIDTH, initial_indent=begins, subsequent_indent=begins
    )


def _folded(message: str, indent: str) -> Iterator[str]:
    yield f"{indent}raise NotImplementedError("
    parts = textwrap.wrap(message, width=WIDTH - len(indent) - 8)  # 8: indent, quotes, a space
    for part in parts:
        text = part if part is parts[-1] else f"{part} "
        yield f"{indent}    {json.dumps(text, ensure_ascii=False)}"
    yield f"{indent})"

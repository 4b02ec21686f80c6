"""List what the front ends of the kernel languages refuse, and which refusals have no hint.

    python bench/front_end_raises.py                     # the installed versions
    python bench/front_end_raises.py triton=FOLDER       # another version, unpacked into FOLDER

Reads every `raise` and every `assert` with a message from the modules that see a learner's kernel;
nothing of them is executed. A refusal has a hint if its backend's tables of hints (`BACKEND.hints`)
have a part of its text. The record goes to bench/results/front_end_raises.json.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from grader import backends

RESULTS = Path(__file__).parent / "results" / "front_end_raises.json"
# The modules of each library that a kernel file's own code reaches, by backend.
MODULES = {
    "triton": (
        "triton",
        (
            "compiler/code_generator.py",
            "compiler/errors.py",
            "language/core.py",
            "language/math.py",
            "language/random.py",
            "language/semantic.py",
            "language/standard.py",
            "runtime/autotuner.py",
            "runtime/jit.py",
        ),
    ),
    "numba": (
        "numba_cuda",
        (
            "numba/cuda/api.py",
            "numba/cuda/compiler.py",
            "numba/cuda/cudadecl.py",
            "numba/cuda/cudaimpl.py",
            "numba/cuda/decorators.py",
            "numba/cuda/dispatcher.py",
            "numba/cuda/launchconfig.py",
            "numba/cuda/lowering.py",
            "numba/cuda/stubs.py",
            "numba/cuda/typing/*.py",
        ),
    ),
}


def main(arguments: list[str]) -> int:
    found = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name, folder, label in _libraries(arguments):
        known = {text for table in backends.find(name).hints.messages.values() for text in table}
        rows = [row for path in _files(name, folder) for row in refusals(path, folder)]
        without = [row for row in rows if not is_translated(row["text"], known)]
        found[label] = {"refusals": len(rows), "with_hint": len(rows) - len(without)}
        found[label]["without_hint"] = without
        print(f"{label}: {len(rows)} refusals, {len(without)} without a hint")
    RESULTS.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def is_translated(text: str, known: set[str]) -> bool:
    """Say whether a table has a part of a refusal's text; `{}` stands for what is filled in."""
    parts = [part.strip() for part in text.split("{}")]
    return any(key in text or any(key in part for part in parts) for key in known)


def refusals(path: Path, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the `raise`s and `assert`s of a module that have a text, as it stands in the code."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and node.exc is not None:
            kind, text = _name(node.exc), _text(node.exc)
        elif isinstance(node, ast.Assert) and node.msg is not None:
            kind, text = "AssertionError", _text(node.msg)
        else:
            continue
        if text and kind != "NotImplementedError":
            place = str(path.relative_to(folder))
            yield {"file": place, "line": node.lineno, "error": kind, "text": text}


def _name(node: ast.expr) -> str:
    called = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(called).rpartition(".")[2]


def _text(node: ast.expr) -> str:
    """Return the constant text of an expression, with {} for each part that is filled in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "{}" for part in node.values)
    if isinstance(node, ast.BinOp):
        return _text(node.left) + _text(node.right)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            return _text(node.func.value)
        return next(filter(None, map(_text, node.args)), "")
    return ""


def _libraries(arguments: list[str]) -> Iterator[tuple[str, Path, str]]:
    """Yield each backend's name, the folder of its library, and the library with its version."""
    given = dict(each.split("=", 1) for each in arguments)
    for name, (package, _) in MODULES.items():
        if given:
            if name in given:
                folder = Path(given[name])
                [metadata] = folder.glob("*.whl")
                yield name, folder / package, f"{package} {metadata.name.split('-')[1]}"
            continue
        spec = find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise SystemExit(f"{package} is not installed")
        where = Path(next(iter(spec.submodule_search_locations)))
        yield name, where, f"{package} {version(package.replace('_', '-'))}"


def _files(name: str, folder: Path) -> list[Path]:
    return sorted(path for pattern in MODULES[name][1] for path in folder.glob(pattern))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Measure the figures of the house: its source, and a check beside an older checkout.

    python bench/house.py --before fd6bfb7 --out bench/results/house.json
    python bench/house.py --before fd6bfb7 --against ../old --out bench/results/house.json

`--against` names a checkout of the version before with a `.venv` of its own. Checks of the model
solutions run there and here by turns, on the CPU; a record keeps each round's seconds. Without it,
the seconds of an earlier record stay. Exit code 0 means that every figure is within its limit.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from backend_names import lines_with
from host import machine

from grader import backends

ROOT = Path(__file__).parents[1]
GRADER = ROOT / "grader"
ROUNDS = 5
CHECKED = ("01", "04", "p01")
SLOWER = 1.05  # the ratio of two medians of five rounds varies by some percent on a quiet machine
# The authors' API, where every name has a docstring; package faces are the `__init__` of a folder.
AUTHORS_API = (
    "spec.py",
    "testing.py",
    *(f"model/{n}.py" for n in ("arguments", "cases", "exercise")),
)
# In the face of a folder whose modules are found by walking it.
WALKS = ("discover(__name__", "iter_modules(__path__")
DOCSTRING_RULES = ("--select", "D2,D3,D4", "--ignore", "D203,D213,D415")  # as in pyproject.toml
LIMITS = {
    "entries": 18,
    "unused_modules": 0,
    "longest_function": 50,
    "documented_share": 0.45,
    "docstring_violations": 0,
    "backend_names_outside": 0,
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--before", metavar="COMMIT", help="count the lines of this one, too")
    options.add_argument("--against", metavar="DIR", type=Path, help="an older checkout")
    options.add_argument("--out", type=Path, help="write the record here, as JSON")
    asked = options.parse_args(argv)
    record: dict[str, Any] = {"benchmark": "house", **figures(), "lines": lines(asked.before)}
    if asked.against:
        record["latency"] = latency(asked.against.absolute())
    elif asked.out and asked.out.is_file():
        record["latency"] = json.loads(asked.out.read_text()).get("latency")
    if asked.out:
        asked.out.write_text(json.dumps(record, indent=2) + "\n")
    rows = list(table(record))
    for name, value, limit, ok in rows:
        print(f"{'ok' if ok else 'NOT':<4}{name:<28}{value:>12}  {limit}")
    return 0 if all(ok for *_, ok in rows) else 1


def figures() -> dict[str, Any]:
    functions = list(every_function())
    longest = max(functions, key=lambda one: length(one[1]))
    judged = [one for path, one in functions if not is_for_authors(path)]
    documented = sum(ast.get_docstring(one) is not None for one in judged)
    unused, names = unused_modules(), backend_names()
    return {
        "entries": len({path.split("/")[1] for path in tracked()}),
        "unused_modules": len(unused),
        "unused": unused,
        "longest_function": length(longest[1]),
        "longest": f"{relative(longest[0])}:{longest[1].lineno} {longest[1].name}",
        "functions": len(judged),
        "documented_share": round(documented / len(judged), 4),
        "docstring_violations": docstring_violations(),
        "backend_names_outside": len(names),
        "backend_names": names,
    }


def tracked() -> list[str]:
    return git("ls-files", "grader").splitlines()


def git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


def sources() -> list[Path]:
    return [ROOT / path for path in tracked() if path.endswith(".py") and (ROOT / path).exists()]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def every_function() -> Iterator[tuple[Path, Function]]:
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, Function):
                yield path, node


def length(function: Function) -> int:
    return (function.end_lineno or 0) - function.lineno + 1


def is_for_authors(path: Path) -> bool:
    return path.name == "__init__.py" or path.relative_to(GRADER).as_posix() in AUTHORS_API


def unused_modules() -> list[str]:
    """Return modules that nothing imports, no folder's walk finds and no command runs."""
    modules = {module_name(path): path for path in sources()}
    used = {name for path in modules.values() for name in imported(path)}
    used |= {name for face in GRADER.rglob("__init__.pyi") for name in imported(face)}
    used |= named_in_text() | named_by_backends()
    return sorted(
        name
        for name, path in modules.items()
        if name not in used
        if path.name not in ("__init__.py", "__main__.py")
        if not is_discovered(path)
    )


def is_discovered(path: Path) -> bool:
    face = (path.parent / "__init__.py").read_text(encoding="utf-8")
    return any(walk in face for walk in WALKS)


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imported(path: Path) -> Iterator[str]:
    """Yield the names of modules, and of what may be modules, that a file imports."""
    package = module_name(path.with_suffix(".py")).split(".")
    inside = package if path.name.startswith("__init__.") else package[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = inside[: len(inside) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def named_in_text() -> set[str]:
    """Return dotted names in strings, pages and settings: what is run, or loaded by its path."""
    places = [*GRADER.rglob("*.py"), *ROOT.glob("docs/*.md"), ROOT / "pyproject.toml"]
    places += [ROOT / "Makefile", ROOT / "README.md"]
    found: set[str] = set()
    for path in places:
        text = path.read_text(encoding="utf-8")
        found |= set(re.findall(r"(?:python -m |-m\", \"|[\"'])(grader(?:\.\w+)+)", text))
    return found


def named_by_backends() -> set[str]:
    """Return the modules that backends name in their data, by the names of their files."""
    return {
        f"grader.backends.{one.name}.{str(value).removesuffix('.py')}"
        for one in backends.every()
        for value in (*vars(one).values(), one.trial.file)
    }


def docstring_violations() -> int:
    ruff = Path(sys.executable).with_name("ruff")
    command = [str(ruff), "check", "--isolated", *DOCSTRING_RULES, "--output-format", "json"]
    done = subprocess.run([*command, str(GRADER)], capture_output=True, text=True)
    return len(json.loads(done.stdout))


def backend_names() -> list[str]:
    """Return the lines outside of backends/ that name a backend, with their places."""
    names = {path.parent.name for path in GRADER.glob("backends/*/__init__.py")}
    return [line.split(": ")[0] for line in lines_with(names)]


def lines(before: str | None) -> dict[str, Any]:
    after = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in sources())
    if before is None:
        return {"after": after}
    counted = git("grep", "-c", "", before, "--", "grader/*.py").splitlines()
    return {
        "commit": git("rev-parse", before).strip(),
        "before": sum(int(line.rpartition(":")[2]) for line in counted),
        "after": after,
    }


def latency(old: Path) -> dict[str, Any]:
    """Return the seconds of each round; the two checkouts begin a round by turns."""
    seconds: dict[str, dict[str, list[float]]] = {
        name: {"before": [], "after": []} for name in CHECKED
    }
    for number in range(ROUNDS):
        for name in CHECKED:
            both = [("before", old), ("after", ROOT)]
            for which, checkout in both if number % 2 else reversed(both):
                seconds[name][which].append(round(one_check(checkout, name), 3))
            print(f"round {number + 1}: {name}", file=sys.stderr)
    return {"machine": machine(), "seconds": seconds}


def one_check(checkout: Path, name: str) -> float:
    python = checkout / ".venv" / "bin" / "python"
    command = [str(python), "-m", "grader.cli", "check", name, "--solution", "--device", "cpu"]
    began = time.perf_counter()
    subprocess.run(command, cwd=checkout, check=True, capture_output=True)
    return time.perf_counter() - began


def table(record: dict[str, Any]) -> Iterator[tuple[str, str, str, bool]]:
    """Yield name, value, limit and whether it is kept."""
    for name, most in LIMITS.items():
        yield name, f"{record[name]:g}", f"at most {most:g}", record[name] <= most
    counted = record["lines"]
    yield "lines", f"{counted['after']:,}", f"before: {counted.get('before', 0):,}", True
    for name, seconds in ((record.get("latency") or {}).get("seconds") or {}).items():
        before, after = (statistics.median(seconds[which]) for which in ("before", "after"))
        yield f"check {name}", f"{after:.2f} s", f"before: {before:.2f} s", after <= SLOWER * before


if __name__ == "__main__":
    sys.exit(main())

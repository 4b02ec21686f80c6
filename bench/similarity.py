"""Calibrate the similarity report: independent kernels, and disguised copies of the same kernels.

    python bench/similarity.py --out bench/results/similarity.json

The independent kernels are the honest corpus, tests/redteam/honest/EXERCISE: structures of one
exercise, which still share an author's habits. They are compared as a class would be. Then each
kernel is copied with one disguise at a time, and the copy compared with it, among the same class:

    renamed    every name of the file is another, comments and formatting are gone
    constants  renamed, and every number is another
    reordered  renamed, functions in another order, and neighbouring assignments swapped
    padded     renamed, with a statement without effect before every fourth one
    halved     renamed, and every second statement of each function's body is dropped

For each threshold the record says how many independent pairs it reports, and how many copies it
finds. SHARE in grader/classroom/similarity/compare.py is the threshold that was chosen.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import quantiles
from typing import Any

from host import machine

from grader.classroom.similarity import given as found
from grader.classroom.similarity.compare import FEWEST, SHARE, compare
from grader.classroom.similarity.records import Pair, Source
from grader.course import catalog
from grader.course.exercise import Exercise

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / "tests" / "redteam" / "honest"
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


class Renamed(ast.NodeTransformer):
    """Gives each name that the file chooses another; with `numbers`, each number, too."""

    def __init__(self, tree: ast.Module, numbers: bool = False) -> None:
        imported = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        chosen = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        chosen |= {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        chosen |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        self.names = {name: f"v{n}" for n, name in enumerate(sorted(chosen - imported))}
        self.numbers = numbers

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(self.names[node.arg], None)

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        self.generic_visit(node)
        return ast.keyword(self.names.get(node.arg or "", node.arg), node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.name = self.names[node.name]
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if self.numbers and type(node.value) in (int, float):
            return ast.Constant(node.value + 1)
        return node


def renamed(text: str) -> str:
    tree = ast.parse(text)
    return ast.unparse(ast.fix_missing_locations(Renamed(tree).visit(tree)))


def constants(text: str) -> str:
    tree = ast.parse(text)
    return ast.unparse(ast.fix_missing_locations(Renamed(tree, numbers=True).visit(tree)))


def reordered(text: str) -> str:
    tree = ast.parse(renamed(text))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    rest = [node for node in tree.body if not isinstance(node, ast.FunctionDef)]
    for function in functions:
        function.body = _swapped(function.body)
    return ast.unparse(ast.Module([*rest, *reversed(functions)], []))


def _swapped(body: list[ast.stmt]) -> list[ast.stmt]:
    """Swap neighbouring assignments of which neither reads what the other writes."""
    body = list(body)
    at = 0
    while at < len(body) - 1:
        first, second = body[at], body[at + 1]
        plain = isinstance(first, ast.Assign) and isinstance(second, ast.Assign)
        if plain and not _written(first) & _named(second) and not _written(second) & _named(first):
            body[at], body[at + 1] = second, first
            at += 1
        at += 1
    return body


def _named(node: ast.stmt) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _written(node: ast.stmt) -> set[str]:
    return {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }


def padded(text: str) -> str:
    return _with_bodies(renamed(text), _pad)


def _pad(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for number, one in enumerate(body):
        if number % 4 == 0:
            made += ast.parse("unused = 3 * 7").body
        made.append(one)
    return made


def halved(text: str) -> str:
    return _with_bodies(renamed(text), lambda body: list(body[::2]))


def _with_bodies(text: str, change: Callable[[Sequence[ast.stmt]], list[ast.stmt]]) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.body = change(node.body)
    return ast.unparse(ast.fix_missing_locations(tree))


DISGUISES = {
    "renamed": renamed,
    "constants": constants,
    "reordered": reordered,
    "padded": padded,
    "halved": halved,
}


def corpus(exercise: str) -> Iterator[tuple[str, str]]:
    for path in sorted((CORPUS / exercise).glob("*.py")):
        yield path.stem, path.read_text(encoding="utf-8")


def measured(exercise: Exercise) -> dict[str, Any]:
    """Compare the kernels of one exercise, and each with its disguised copies."""
    own = [Source(name, exercise.name, text) for name, text in corpus(exercise.name)]
    given = found.texts(exercise)
    title = exercise.any_spec.title
    among = compare(exercise.name, title, own, given, share=0.0)
    honest = sorted((pair.share for pair in among.pairs), reverse=True)
    copies: dict[str, list[float | None]] = {name: [] for name in DISGUISES}
    for one in own:
        disguised = [
            Source(f"copy {name}", exercise.name, make(one.text), team=f"copy {name}")
            for name, make in DISGUISES.items()
        ]
        for name, copy in zip(DISGUISES, disguised, strict=True):
            pairs = compare(exercise.name, title, [*own, copy], given, share=0.0).pairs
            copies[name].append(_share(pairs, one.student, copy.student))
    return {
        "kernels": len(own),
        "compared": among.compared,
        "pairs": len(honest),
        "independent": honest,
        "closest": [[*pair.students, round(pair.share, 3)] for pair in among.pairs[:3]],
        "copies": copies,
    }


def _share(pairs: Sequence[Pair], first: str, second: str) -> float | None:
    """Return what the two share; None where one of them is too short to be compared."""
    return next((one.share for one in pairs if {*one.students} == {first, second}), None)


def summary(by_exercise: dict[str, dict[str, Any]]) -> dict[str, Any]:
    independent = [share for one in by_exercise.values() for share in one["independent"]]
    copies = {
        name: [share for one in by_exercise.values() for share in one["copies"][name]]
        for name in DISGUISES
    }
    return {
        "independent_pairs": len(independent),
        "independent_percentiles": {
            str(of): round(quantiles(independent, n=1000)[of * 10 - 1], 3) for of in (50, 90, 99)
        },
        "independent_largest": round(max(independent), 3),
        "too_short_to_compare": {
            name: sum(share is None for share in shares) for name, shares in copies.items()
        },
        "thresholds": [
            {
                "share": least,
                "independent_reported": sum(share >= least for share in independent),
                "copies_found": {
                    name: [
                        sum(share is not None and share >= least for share in shares),
                        sum(share is not None for share in shares),
                    ]
                    for name, shares in copies.items()
                },
            }
            for least in THRESHOLDS
        ],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="exercises; all without a name")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    random.seed(0)
    exercises = [one for one in catalog.exercises(ROOT) if (CORPUS / one.name).is_dir()]
    by_exercise = {
        one.name: measured(one) for one in exercises if not args.names or one.name in args.names
    }
    record = {"machine": machine(), "share": SHARE, "fewest": FEWEST, **summary(by_exercise)}
    for one in by_exercise.values():
        one["independent"] = one["independent"][:10]
        one["copies"] = {
            name: min((share for share in shares if share is not None), default=None)
            for name, shares in one["copies"].items()
        }
    record["exercises"] = by_exercise
    text = json.dumps(record, indent=1)
    print(text)
    if args.out:
        args.out.write_text(f"{text}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

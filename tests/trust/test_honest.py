"""The honest corpus: complete, of many structures, and a sample of it judged."""

import ast
import importlib.util
import json
import sys
import zlib
from datetime import date
from pathlib import Path

import pytest

from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading import check
from grader.grading.options import Options
from grader.grading.plan import with_step
from grader.model.outcomes import Status
from grader.model.results import Result

pytestmark = pytest.mark.slow

ROOT = catalog.find_root(Path(__file__).parents[1])
_SPEC = importlib.util.spec_from_file_location("bench_honest", ROOT / "bench" / "honest.py")
honest = sys.modules["bench_honest"] = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(honest)

EXERCISES = with_step(catalog.exercises(ROOT), "speed")
KERNELS = honest.corpus(ROOT)
LEAST = 15  # structures of each exercise
DAYS = 7  # after which each exercise was tried
JUDGED = 1  # of each exercise, here; `make redteam-honest` judges all of them


class _Nameless(ast.NodeTransformer):
    """Takes out what two files of one structure may differ in: names, docstrings."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(id="_", ctx=node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(arg="_")

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        return ast.keyword(arg="_", value=self.visit(node.value))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.name = "_"
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        self.generic_visit(node)
        return None if isinstance(node.value, ast.Constant) else node


def structure(text: str) -> str:
    return ast.dump(_Nameless().visit(ast.parse(text)))


def test_a_renamed_kernel_has_the_same_structure():
    text = (ROOT / honest.CORPUS / "01_vector_add" / "loads_ahead.py").read_text(encoding="utf-8")
    assert structure(text.replace("BLOCK", "WIDTH")) == structure(text)
    assert structure(text.replace("+", "-")) != structure(text)


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_there_are_enough_structures(exercise: Exercise):
    texts = [
        kernel.path.read_text(encoding="utf-8") for kernel in KERNELS if kernel.exercise == exercise
    ]
    assert len({structure(text) for text in texts}) == len(texts) >= LEAST


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_a_kernel_says_what_is_its_own(kernel):
    tree = ast.parse(kernel.path.read_text(encoding="utf-8"))
    docstring = ast.get_docstring(tree)
    assert docstring is not None
    assert docstring.endswith(".")
    assert "\n" not in docstring


def sample(exercise: Exercise) -> list:
    """Kernels that a simulator can run, chosen by a checksum of their names."""
    able = [k for k in KERNELS if k.exercise == exercise and k.runs_on("cpu")]
    return sorted(able, key=lambda kernel: zlib.crc32(kernel.path.stem.encode()))[:JUDGED]


def test_honest_kernels_pass():
    """Some exercises, others each day, so that a run takes no longer as the course grows.

    Nor is machine code made for targets that are only reported, and decide nothing.
    """
    options = Options(device="cpu", shrink=False, elsewhere=False)
    today = date.today().toordinal() % DAYS
    requests = [
        check.Request(exercise, kernel.path, options)
        for exercise in EXERCISES[today::DAYS]
        for kernel in sample(exercise)
    ]
    results = check.run(requests, lambda text: None)
    rejected = [honest.described(result) for result in results if result.status is not Status.PASS]
    assert rejected == []


# -- the script that judges all of it


def result(status: str, step: dict | None = None) -> Result:
    environment = {"grader": "0", "python": "3", "device": "cpu", "simulated": True}
    steps = [] if step is None else [{"points": 0, "max_points": 1, "duration_s": 0.1, **step}]
    record = {
        "schema": "grader/result/v1",
        "exercise": "01_vector_add",
        "title": "",
        "status": status,
        "points": 0,
        "max_points": 10,
        "kernel": {"path": "kernel.py", "sha256": ""},
        "environment": environment,
        "seed": 7,
        "started_at": "",
        "duration_s": 1.5,
        "steps": steps,
    }
    return Result.model_validate_json(json.dumps(record))


def failing(name: str, kind: str, outcome: str = "fail") -> dict:
    failure = {"kind": kind, "message": "why"}
    return {"name": name, "outcome": outcome, "summary": "", "failure": failure}


@pytest.mark.parametrize(
    ("made", "fate"),
    [
        (result("pass"), "accepted"),
        (result("fail", failing("correctness", "value")), "rejected"),
        (result("fail", failing("speed", "too_slow")), "too_slow"),
        (result("fail", failing("speed", "impossible")), "rejected"),
        (result("cannot_grade", failing("speed", "noisy", "noisy")), "undecided"),
        (result("error", failing("load", "error", "error")), "rejected"),
        (result("unfinished"), "rejected"),
    ],
)
def test_what_counts_as_rejected(made: Result, fate: str):
    assert honest.fate_of(made) == fate


@pytest.mark.parametrize(
    ("head", "devices"),
    [
        ("", ["cpu", "cuda"]),
        ("# GPU only: a clock\n", ["cuda"]),
        ("# Needs: torch\n", ["cpu", "cuda"]),
        ("# Needs: no_such_package\n", []),
    ],
)
def test_a_kernel_that_cannot_run_is_left_out(tmp_path: Path, head: str, devices: list[str]):
    kernel = honest.Honest(EXERCISES[0], tmp_path / "mine.py")
    kernel.path.write_text(head)
    assert [device for device in ("cpu", "cuda") if kernel.runs_on(device)] == devices


def test_a_record_is_gone_on_with_until_the_kernel_changes(tmp_path: Path):
    out = tmp_path / "record.json"
    kernel = honest.Honest(EXERCISES[0], tmp_path / "mine.py")
    kernel.path.write_text("# one\n")
    honest.Record("cpu", out).add([kernel], [result("fail", failing("correctness", "value"))])
    again = honest.Record("cpu", out)
    assert again.of(kernel).runs == 1
    assert again.of(kernel).rejected[0]["message"] == "why"
    kernel.path.write_text("# another\n")
    assert again.of(kernel).runs == 0
    with pytest.raises(honest.UsageError, match="holds runs on cpu"):
        honest.Record("cuda", out)


def test_every_run_of_a_kernel_has_a_seed_of_its_own():
    seeds = [kernel.seed(number) for kernel in KERNELS[:20] for number in range(40)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**31 for seed in seeds)


@pytest.mark.parametrize(("device", "sizes"), [("cpu", [6, 6]), ("cuda", [1] * 12)])
def test_on_a_gpu_each_kernel_has_a_judge_of_its_own(
    monkeypatch: pytest.MonkeyPatch, device: str, sizes: list[int]
):
    batches = []

    def run(requests: list[check.Request], say: object) -> list[Result]:
        batches.append(len(requests))
        return [result("pass") for _ in requests]

    monkeypatch.setattr(honest.check, "run", run)
    of_one = [kernel for kernel in KERNELS if kernel.exercise == EXERCISES[0]][:12]
    record = honest.Record(device, None)
    honest.judge_all(of_one, 1, 1, record)
    assert batches == sizes
    assert [record.of(kernel).runs for kernel in of_one] == [1] * 12

"""`grader lint`: what it finds, what it must not find, and the forms in which it says so."""

from __future__ import annotations

import ast
import functools
import json
import keyword
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from grader import cli
from grader.authoring.lint import torch_api
from grader.authoring.lint.records import Level, LintFinding, Review
from grader.authoring.lint.review import RULES, review
from grader.course import catalog
from grader.course.exercise import Exercise
from grader.reports import lint, sarif

pytestmark = pytest.mark.slow

ROOT = catalog.find_root(Path(__file__).parents[1])
SAMPLES = Path(__file__).parents[1] / "lint"
FOUND = sorted((SAMPLES / "found").glob("*.py"))
NEAR = sorted((SAMPLES / "near").glob("*.py"))
BY_ID = {rule.id: rule for rule in RULES}


def found_in(text: str) -> tuple[LintFinding, ...]:
    return review("kernel.py", text.encode()).findings


def places(findings: Sequence[LintFinding]) -> set[tuple[int, str]]:
    return {(one.line, one.rule) for one in findings}


def marked(text: str) -> set[tuple[int, str]]:
    """The lines of a sample that say which rules must find them: `... # KG101 KG202`."""
    marks = enumerate((re.search(r"# ((?:KG\d+ ?)+)$", line) for line in text.splitlines()), 1)
    return {(line, rule) for line, mark in marks if mark for rule in mark[1].split()}


# -- what is found


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_a_rule_finds_the_marked_lines_and_no_others(path: Path):
    text = path.read_text(encoding="utf-8")
    assert places(found_in(text)) == marked(text)


@pytest.mark.parametrize("path", NEAR, ids=lambda path: path.stem)
def test_a_near_miss_is_left_alone(path: Path):
    assert places(found_in(path.read_text(encoding="utf-8"))) == set()


@pytest.mark.parametrize("rule", [rule.id for rule in RULES if rule.id != "KG001"])
def test_every_rule_has_a_sample_and_a_near_miss(rule: str):
    samples = [path for path in FOUND if path.stem.startswith(f"{rule}_{slug(rule)}")]
    assert any(rule in path.read_text(encoding="utf-8") for path in samples)
    assert any(path.stem.startswith(f"{rule}_") for path in NEAR)


def slug(rule: str) -> str:
    return BY_ID[rule].name.replace("-", "_")


def test_rules_have_ids_and_names_of_their_own_and_full_sentences():
    assert len(BY_ID) == len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert re.fullmatch(r"KG\d{3}", rule.id)
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)
        for text in (rule.message, rule.why, rule.action):
            assert text.endswith(".")
            assert "  " not in text
        assert rule.message.count(". ") == 0, "one sentence"


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("x = (\n", 1, 5, "Python cannot read this file: '(' was never closed."),
        ("def f():\nreturn 1\n", 2, 1, "expected an indented block"),
        ("# -*- coding: nonsense -*-\n", 1, 1, "unknown encoding"),
        ("x = '\0'", 1, 1, "null bytes"),
        ("x = " + "-" * 50_000 + "1", 1, 1, "nested too deeply"),
        ("x = " + "f." * 20_000 + "f", 1, 1, "nested too deeply"),
    ],
)
def test_a_file_that_python_cannot_parse_is_a_finding(
    text: str, line: int, column: int, message: str
):
    (finding,) = found_in(text)
    assert (finding.rule, finding.name) == ("KG001", "syntax")
    assert message in finding.message
    assert (finding.line, finding.column) == (line, column)


def test_bytes_that_are_no_text_are_a_finding():
    (finding,) = review("kernel.py", b"x = '\xff'\n").findings
    assert finding.rule == "KG001"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("odd", ["\x0c", "\x0b", "\x1c", "\x85", "\u2028", "\u2029"])
def test_only_what_ends_a_line_for_python_ends_one(odd: str, newline: str):
    lines = [f"# page{odd}one", "def copy(y, out):", "    out.copy_(y)", ""]
    finding = found_in(newline.join(lines))[-1]
    assert (finding.line, finding.column, finding.code) == (3, 5, "out.copy_(y)")


def test_an_empty_file_holds_nothing_to_find():
    assert found_in("") == ()
    assert found_in("\ufeff# only a comment\n") == ()


def test_columns_count_characters():
    (finding,) = found_in("import os\nπ = 'ü'; os.fork()\n")
    assert (finding.line, finding.column, finding.end_column) == (2, 10, 17)
    assert finding.code == "π = 'ü'; os.fork()"


def test_a_line_has_each_rule_once():
    text = "import os\n\n\ndef run():\n    os.kill(os.fork(), os.abort())\n"
    assert [(one.rule, one.line, one.function) for one in found_in(text)] == [
        ("KG107", 4, ""),
        ("KG404", 5, "run"),
    ]


# -- names


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.fork()",
        "import os as o\no.fork()",
        "from os import fork\nfork()",
        "from os import fork as f\nf()",
        "from os import *\nfork()",
        "import os\nf = os.fork\nf()",
        "import os\nf = g = os\nh = g\nh.fork()",
        "import os\na, b = os.fork, 1\na()",
        "import os\n(f := os).fork()",
        "import os\nf = os.fork if a else b\nf()",
        "import os\ngetattr(os, 'fork')()",
        "import torch\ntorch.os.fork()",
        "from torch import os as o\no.fork()",
        "import os\ndef f():\n    def g(): os.fork()\n    return g",
        "import os\nclass A:\n    x = os.fork()",
        "import os\nclass A:\n    os = 1\n    def f(self): os.fork()",
        "def f():\n    global os\n    import os\ndef g(): os.fork()",
        "try:\n    import os\nexcept ImportError:\n    os = None\nos.fork()",
        "import os\nf = [x for x in (1, 2) if os.fork()]",
        "import os\nf = lambda: os.fork()",
        "import os\n@os.fork\ndef f(): pass",
        "import os\ndef f(x=os.fork()): pass",
        "import os\nmatch 1:\n    case x if os.fork(): pass",
        "import os\nlater = {'f': os.fork}",
        "import os\ntype(os.fork)",
    ],
)
def test_a_use_is_seen_through_every_name(text: str):
    assert "KG404" in {one.rule for one in found_in(text)}


@pytest.mark.parametrize(
    "text",
    [
        "os.fork()",
        "import mine as os\nos.fork()",
        "from . import os\nos.fork()",
        "import os\ndef f(os): os.fork()",
        "import os\ndef f():\n    os = 1\n    os.fork()",
        "import os\n[os.fork() for os in x]",
        "import os\nlambda os: os.fork()",
        "import os\ndef f(*os, **x): os.fork()",
        "import os\nclass A:\n    os = mine\n    os.fork()",
        "import os\nx: os.fork = 1",
        "import os\ndef f(x: os.fork) -> os.fork: pass",
        "import os\ntry: f()\nexcept E as e: pass\nfork = 1\nfork()",
        "import os\nf = os.fork",
        "a = b\nb = a\na.fork()",
        "import os\nmine.os.fork()",
    ],
)
def test_another_thing_of_that_name_is_not_it(text: str):
    assert {one.rule for one in found_in(text)} <= {"KG107"}


# -- words are no findings

TEXT = (
    "pass try except stream Stream cuda torch softmax cache open exec eval os environ data_ptr id "
    "subprocess ctypes threading atexit gc base64 mask load syncthreads program_id fork kernel"
)
WORDS = TEXT.split()


def names_of_its_own(tree: ast.Module) -> list[str]:
    """The names that a file may change and still be the same program."""
    bound = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.ctx.__class__ is ast.Store
    }
    bound |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef))
    methods = {m for c in ast.walk(tree) if isinstance(c, ast.ClassDef) for m in c.body}
    bound |= {n.name for n in functions if n not in methods}
    imports = (n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom))
    bound |= {(a.asname or a.name).split(".")[0] for n in imports for a in n.names}
    keywords = {n.arg for n in ast.walk(tree) if isinstance(n, ast.keyword)}
    # `import os.path` binds `os`, which cannot be given another name.
    plain = (n for n in ast.walk(tree) if isinstance(n, ast.Import))
    dotted = {a.name.split(".")[0] for n in plain for a in n.names if "." in a.name}
    return sorted(bound - keywords - dotted - {"__del__"})


class Renaming(ast.NodeTransformer):
    """Gives names others, wherever they stand."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit(self, node: ast.AST) -> ast.AST:
        self.generic_visit(node)
        for field in ("id", "arg", "name", "asname"):
            if isinstance(node, ast.keyword | ast.alias):
                continue
            value = getattr(node, field, None)
            if isinstance(value, str):
                setattr(node, field, self._names.get(value, value))
        if isinstance(node, ast.Global | ast.Nonlocal):
            node.names = [self._names.get(name, name) for name in node.names]
        if isinstance(node, ast.Import | ast.ImportFrom):
            node.names = [self._renamed(alias) for alias in node.names]
        return node

    def _renamed(self, alias: ast.alias) -> ast.alias:
        own = alias.asname or alias.name
        return ast.alias(name=alias.name, asname=self._names.get(own, alias.asname))


@pytest.mark.parametrize("path", FOUND + NEAR, ids=lambda path: f"{path.parent.name}-{path.stem}")
@settings(max_examples=3)
@given(data=st.data())
def test_other_names_change_no_finding(path: Path, data: st.DataObject):
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    taken = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} | set(names_of_its_own(tree))
    old = names_of_its_own(tree)
    free = [word for word in WORDS if word not in taken and not keyword.iskeyword(word)]
    fresh = free + [f"name_{n}" for n in range(len(old))]
    new = data.draw(st.permutations(fresh))
    renamed = ast.unparse(Renaming(dict(zip(old, new, strict=False))).visit(ast.parse(text)))
    assert rules(renamed) == rules(ast.unparse(tree))


@functools.cache
def rules(text: str) -> list[tuple[int, str]]:
    return [(one.line, one.rule) for one in found_in(text)]


@pytest.mark.parametrize("path", FOUND + NEAR, ids=lambda path: f"{path.parent.name}-{path.stem}")
@settings(max_examples=3)
@given(words=st.lists(st.sampled_from([*WORDS, "torch.softmax(x)", "exec('x')", "open('f')"])))
def test_comments_and_texts_change_no_finding(path: Path, words: list[str]):
    text = path.read_text(encoding="utf-8")
    lines = [f"{line}  # {' '.join(words)}" if line.strip() else line for line in ast_lines(text)]
    added = "\n".join([*lines, f"WORDS_OF_THE_TEST = {' '.join(words)!r}", ""])
    assert rules(added) == rules("\n".join([*ast_lines(text), ""]))


def ast_lines(text: str) -> list[str]:
    """The lines of a file without comments, and with no text over several lines."""
    return ast.unparse(ast.parse(text)).splitlines()


# -- right kernels, and any Python at all

# Honest kernels in which a teacher would want to look at something, and what. None gets a warning.
WORTH_A_LOOK = {
    "07_fused_linear_cross_entropy/third_product_by_torch": {"KG106"},
    "01_vector_add/cuda_graph": {"KG201", "KG302"},  # a graph for each set of addresses
    "01_vector_add/pointer_of_tensors": {"KG106"},  # takes a table of addresses to the GPU
    "01_vector_add/side_stream": {"KG202", "KG301"},  # two streams that wait for each other
    "02_dot_reduction/float64_sums": {"KG202"},  # scratch memory kept by its size
    "02_dot_reduction/stream_and_event": {"KG301"},
    "03_three_pass_softmax/cuda_graph": {"KG201", "KG302"},
    "04_online_softmax/locked_rows": {"KG106"},  # fills scratch
    "06_cross_entropy/target_by_gather": {"KG202", "KG406"},  # keeps a choice by its benchmark
    "06_cross_entropy/cuda_graph": {"KG106", "KG201", "KG302"},  # puts back what a trial overwrote
}
# What imports a library's kernels is honest towards the judge alone: a teacher is shown it.
HONEST = [
    path
    for path in sorted((ROOT / "tests" / "redteam" / "honest").glob("*/*.py"))
    if "\n# Needs: " not in path.read_text(encoding="utf-8")
]


# Warnings about what an exercise's lesson allows: there torch multiplies matrices.
ALLOWED = {"07_fused_linear_cross_entropy": {"KG101"}}


def test_the_honest_corpus_is_there():
    assert len(HONEST) >= 90
    assert {f"{path.parent.name}/{path.stem}" for path in HONEST} >= WORTH_A_LOOK.keys()


@pytest.mark.parametrize("path", HONEST, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_an_honest_kernel_gets_no_warning_and_only_known_notes(path: Path):
    allowed = ALLOWED.get(path.parent.name, set())
    found = found_in(path.read_text(encoding="utf-8"))
    findings = [one for one in found if one.rule not in allowed]
    assert {one.level for one in findings} <= {Level.NOTE}
    name = f"{path.parent.name}/{path.stem}"
    assert {one.rule for one in findings} == WORTH_A_LOOK.get(name, set())


@pytest.mark.parametrize("exercise", catalog.exercises(ROOT), ids=lambda exercise: exercise.name)
def test_nothing_is_found_in_solutions_and_stubs(exercise: Exercise):
    found = found_in(exercise.solution.read_text(encoding="utf-8"))
    assert {one.rule for one in found} == ALLOWED.get(exercise.name, set())
    stub = found_in(exercise.kernel.read_text(encoding="utf-8"))
    # What a stub brings along is used by the part that is not written yet.
    assert {one.rule for one in stub} <= {"KG108"}


@pytest.mark.parametrize("path", sorted(ROOT.glob("grader/*.py")), ids=lambda path: path.stem)
def test_any_python_can_be_reviewed(path: Path):
    """Rules meet code that is no kernel file at all: they say something or nothing, and end."""
    text = path.read_text(encoding="utf-8")
    for one in found_in(text):
        assert one.rule != "KG001"
        assert text.splitlines()[one.line - 1].strip() == one.code


def test_the_methods_that_are_listed_exist():
    listed = torch_api.KNOWN_METHODS | torch_api.SURELY_COMPUTE | torch_api.SURELY_COPY
    assert {name for name in listed if not hasattr(torch.Tensor, name)} <= {
        "copy_to_host",  # of numba's arrays
        "cross_entropy",  # of torch.nn.functional, which some call as if it were a method
        "silu",
        *torch_api.words("as_strided as_tensor broadcast_to from_dlpack from_numpy"),
        *torch_api.words("view_as_complex view_as_real einsum nll_loss"),
    }


def test_only_functions_of_torch_are_operations():
    for module in pkgutil.iter_modules(torch.__path__):  # some are there once they are imported
        assert not torch_api.is_operation(f"torch.{module.name}"), module.name
    for name in dir(torch):
        value = getattr(torch, name)
        if isinstance(value, ModuleType | type | torch.dtype | torch.layout | int | float | str):
            assert not torch_api.is_operation(f"torch.{name}"), name


@pytest.mark.parametrize(
    "name", ["softmax", "add", "matmul", "sum", "exp", "where", "einsum", "mm"]
)
def test_functions_of_torch_that_compute_are_operations(name: str):
    assert torch_api.is_operation(f"torch.{name}")
    assert not torch_api.is_operation(f"numpy.{name}")


# -- the command


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.main(["lint", *words])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


CLEAN = str(SAMPLES / "near" / "KG108_unused_kernel.py")
DIRTY = str(SAMPLES / "found" / "KG108_unused_kernel.py")


def test_findings_leave_the_exit_code_alone(capsys: pytest.CaptureFixture[str]):
    assert run(capsys, DIRTY)[0] == 0
    assert run(capsys, CLEAN, "--strict")[0] == 0
    assert run(capsys, CLEAN, DIRTY, "--strict")[0] == 1


def test_a_syntax_error_is_a_finding_and_no_usage_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    (path := tmp_path / "kernel.py").write_text("def run(:\n")
    code, out, _ = run(capsys, str(path), CLEAN)
    assert (code, "KG001 syntax" in out, "1 warning, 0 notes in 2 files" in out) == (0, True, True)
    assert run(capsys, str(path), "--strict")[0] == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["no_such.py"], "no_such.py cannot be read: No such file or directory."),
        (["."], ". cannot be read: Is a directory."),
        ([CLEAN, "--json", "--sarif"], "--sarif and --json are two forms of one output."),
    ],
)
def test_a_wrong_command_line_is_2(capsys: pytest.CaptureFixture[str], words: list[str], told: str):
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert told in err
    assert "next: " in err


def test_no_file_is_2(capsys: pytest.CaptureFixture[str]):
    assert run(capsys)[0] == 2


def test_a_file_whose_name_is_no_text_hides_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    odd = tmp_path / os.fsdecode(b"k\xff.py")
    odd.write_bytes(b"def copy(y, out):\n    out.copy_(y)\n")
    code, out, _ = run(capsys, CLEAN, str(odd), "--json")
    clean, dirty = (Review.model_validate_json(line) for line in out.splitlines())
    assert (code, clean.path) == (0, Path(CLEAN).as_posix())
    assert (Path(dirty.path).name, len(dirty.findings)) == (r"k\udcff.py", 2)
    code, out, _ = run(capsys, CLEAN, str(odd), "--sarif")
    assert (code, len(json.loads(out)["runs"][0]["artifacts"])) == (0, 2)
    assert r"k\udcff.py" in run(capsys, str(odd))[1]


def test_json_is_one_review_a_line(capsys: pytest.CaptureFixture[str]):
    _, out, err = run(capsys, CLEAN, DIRTY, "--json")
    clean, dirty = (Review.model_validate_json(line) for line in out.splitlines())
    assert err == ""
    assert clean.findings == ()
    assert dirty.path == Path(DIRTY).as_posix()
    assert dirty == review(dirty.path, Path(DIRTY).read_bytes())
    assert dirty.schema_ == "grader/lint/v1"


def test_a_file_is_neither_imported_nor_run_and_torch_is_not_needed(tmp_path: Path):
    path = tmp_path / "kernel.py"
    path.write_text("import torch\nopen('ran', 'w')\nraise SystemExit(7)\n")
    code = (
        "import sys; from grader import cli; code = cli.main(['lint', 'kernel.py']); "
        "print(code, sorted({'torch', 'triton', 'numba', 'numpy', 'kernel'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "KG401" in done.stdout
    assert done.stdout.splitlines()[-1] == "0 []"
    assert list(tmp_path.iterdir()) == [path]


# -- what people read


def rendered(*texts: str, width: int = 80) -> str:
    reviews = [review(f"{n}.py", text.encode()) for n, text in enumerate(texts, 1)]
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(lint.report(reviews, width), soft_wrap=True, end="")
    return captured.get()


def test_a_report_explains_each_rule_once(snapshot: SnapshotAssertion):
    text = "import os\nos.fork()\n\nos.system('ls')\n"
    assert rendered("", text) == snapshot


def test_a_report_of_nothing_says_so(snapshot: SnapshotAssertion):
    assert rendered("x = 1\n") == snapshot


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_of_a_report_is_too_long(width: int):
    text = "import os\nos.fork()\n"
    assert max(map(len, rendered(text, width=width).splitlines())) <= min(width, 100)


# -- SARIF

SCHEMA = json.loads((SAMPLES / "sarif-2.1.0-essentials.schema.json").read_text(encoding="utf-8"))
# Made once, and the schema checked once: `jsonschema.validate` would do both for each log.
jsonschema.Draft202012Validator.check_schema(SCHEMA)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker())
GOLDEN = SAMPLES / "golden.sarif"


def sarif_log(*names: str) -> dict:
    reviews = [review(f"tests/lint/{name}", (SAMPLES / name).read_bytes()) for name in names]
    return json.loads(sarif.to_json(reviews, ROOT))


def golden() -> dict:
    """What the golden file holds, whatever the grader's version."""
    names = ("found/KG601_hidden_error.py", "found/KG302_cuda_graph.py", "near/KG303_thread.py")
    log = sarif_log(*names)
    log["runs"][0]["tool"]["driver"]["version"] = "0"
    return log


def test_sarif_equals_the_golden_file():
    """`python tests/authoring/test_lint.py` writes the golden file anew."""
    assert golden() == json.loads(GOLDEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", [*FOUND, NEAR[0]], ids=lambda path: path.stem)
def test_sarif_has_the_structure_of_the_standard(path: Path):
    log = sarif_log(f"{path.parent.name}/{path.name}")
    VALIDATOR.validate(log)
    (made,) = log["runs"]
    descriptors = made["tool"]["driver"]["rules"]
    for result in made["results"]:
        assert descriptors[result["ruleIndex"]]["id"] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]
        artifact = made["artifacts"][place["artifactLocation"]["index"]]
        assert artifact["location"]["uri"] == place["artifactLocation"]["uri"]
        region = place["region"]
        begin = (region["startLine"], region["startColumn"])
        assert begin < (region["endLine"], region["endColumn"])
    found = found_in(path.read_text(encoding="utf-8"))
    assert [result["ruleId"] for result in made["results"]] == [one.rule for one in found]


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("kernel.py", "kernel.py"),
        ("my kernels/ö.py", "my%20kernels/%C3%B6.py"),
        ("/course/a/kernel.py", "a/kernel.py"),
        ("/elsewhere/kernel.py", "file:///elsewhere/kernel.py"),
        ("../kernel.py", "file:///kernel.py"),
    ],
)
def test_sarif_names_files_relative_to_where_one_stands(path: str, uri: str):
    log = sarif.log([review(path, b"")], Path("/course"))
    assert log["runs"][0]["artifacts"][0]["location"]["uri"] == uri


def test_the_command_prints_one_sarif_log(capsys: pytest.CaptureFixture[str]):
    code, out, err = run(capsys, CLEAN, DIRTY, "--sarif")
    assert (code, err) == (0, "")
    assert [one["ruleId"] for one in json.loads(out)["runs"][0]["results"]] == ["KG108"]


def write_golden() -> None:
    GOLDEN.write_text(json.dumps(golden(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_golden()

"""The red team: every attack has its cheat or its place in the table, and a sample is judged."""

from __future__ import annotations

import ast
import importlib.util
import json
import random
import re
import sys
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from grader.correctness import spread_cases
from grader.course import catalog
from grader.grading import WarmJudge, check
from grader.model.errors import CannotGrade, GraderError
from grader.model.results import Result

pytestmark = pytest.mark.slow

ROOT = catalog.find_root(Path(__file__).parents[1])
_SPEC = importlib.util.spec_from_file_location("bench_redteam", ROOT / "bench" / "redteam.py")
redteam = sys.modules["bench_redteam"] = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(redteam)

EXERCISES = {exercise.name: exercise for exercise in catalog.exercises(ROOT)}
CHEATS = redteam.cheats(ROOT)
ROW = re.compile(r"^\| C(\d+) [^|]+\|([^|]*)\|([^|]*)\|([^|]*)\|$", re.MULTILINE)
JUDGED = 4  # here; `make redteam-cheats` judges all of them


def table() -> dict[int, tuple[str, str, str]]:
    """What docs/trust.md says of each attack: the defence, its tests, what is not defended."""
    text = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    return {int(n): (d.strip(), t.strip(), not_d.strip()) for n, d, t, not_d in ROW.findall(text)}


ATTACKS = range(1, 1 + len(table()))  # a number that the table leaves out has no row


# -- the corpus


def test_the_first_drawn_case_is_the_one_that_c70_fails():
    """With one edge more, its exception would end the step wherever the judge looked."""
    cheat = next(one for one in CHEATS if one.number == 70)
    spec = redteam.attacked(ROOT, cheat.header.attacks).spec
    large = [*spread_cases(spec, random.Random(1), on_gpu=False)]
    assert f"EDGES = {len(spec.edges) + len(large)} " in cheat.path.read_text(encoding="utf-8")


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.name)
def test_a_cheat_says_what_it_does_and_what_has_to_become_of_it(cheat):
    docstring = ast.get_docstring(ast.parse(cheat.path.read_text(encoding="utf-8")))
    assert docstring.endswith(".")
    assert "\n" not in docstring
    assert redteam.attacked(ROOT, cheat.header.attacks).solution.exists()
    assert cheat.number in ATTACKS


@pytest.mark.parametrize("number", ATTACKS)
def test_every_attack_has_a_cheat_or_says_why_not(number: int):
    defence, tests, not_defended = table()[number]
    if any(cheat.number == number for cheat in CHEATS):
        assert f"c{number:02}_" in tests
    else:
        assert tests.strip("– ") or not_defended.strip("– ")
    assert defence


@pytest.mark.parametrize("number", ATTACKS)
def test_the_table_names_only_tests_that_are_there(number: int):
    for name in re.findall(r"`([^`]+)`", table().get(number, ("", "", ""))[1]):
        known = [*ROOT.glob(f"tests/**/{name}"), *ROOT.glob(f"tests/redteam/cheats/{name}.py")]
        assert known, name


def test_a_cheat_that_passes_is_listed_as_not_defended():
    said = table()
    for cheat in CHEATS:
        if cheat.header.passes:
            assert said[cheat.number][2].strip("– "), cheat.name


def sample() -> list:
    """Some that the CPU soon stops, chosen by a checksum of their names."""
    quick = [
        cheat
        for cheat in CHEATS
        if not (cheat.header.gpu_only or cheat.header.passes)
        and all(stop.split()[0] in ("load", "correctness") for stop in cheat.header.stopped)
        and "correctness timeout" not in cheat.header.stopped
    ]
    return sorted(quick, key=lambda cheat: zlib.crc32(cheat.name.encode()))[:JUDGED]


@pytest.fixture(scope="module")
def one_judge() -> Iterator[WarmJudge]:
    """Serve all cheats of the sample: a judge of its own for each took most of the time."""
    with WarmJudge() as judge:
        yield judge


@pytest.mark.parametrize("cheat", sample(), ids=lambda cheat: cheat.name)
def test_cheats_are_stopped_where_they_must_be(
    cheat, one_judge: WarmJudge, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(check, "run", partial(check.run, judge=one_judge))
    fate = redteam.judged(cheat, redteam.attacked(ROOT, cheat.header.attacks), "cpu", None)
    assert fate.status == "stopped", fate


# -- headers


def header(*lines: str) -> object:
    return redteam.header_of("\n".join(['"""Cheats."""', *lines, "", "# attacks: nothing"]))


def test_a_header_is_read():
    assert header("# attacks: 01_add", "# stopped: speed too_slow | judge ended (a remark)") == (
        redteam.Header("01_add", ("speed too_slow", "judge ended"))
    )
    assert header(
        "# attacks: 01_add",
        "# harmless: at most 1.02",
        "# passes: nobody",
        "#   looks: at it",
        "# GPU only: a clock",
    ) == redteam.Header("01_add", (), 1.02, "nobody looks: at it", "a clock")


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ((), "which exercise it attacks"),
        (("# stopped: load exit",), "which exercise it attacks"),
        (("# attacks: 01_add",), "what has to become of it"),
        (("# attacks: 01_add", "# GPU only: yes"), "what has to become of it"),
        (("# attacks: 01_add", "# stopped: somewhere"), "`somewhere` is not a step"),
        (("# attacks: 01_add", "# stopped: load exit |"), "is not a step"),
        (("# attacks: 01_add", "# harmless: quite"), "at most 1.02"),
        (("# stopped: load exit", "# attacks: 01_add"), "`attacks` is not where it belongs"),
        (("# attacks: 01_add", "# attacks: 02_dot"), "`attacks` is not where it belongs"),
        (("# a word", "# attacks: 01_add"), "this line says nothing: # a word"),
    ],
)
def test_a_header_of_another_form_is_refused(lines: tuple[str, ...], told: str):
    with pytest.raises(redteam.BadHeader, match=re.escape(told)):
        header(*lines)


def test_a_file_without_a_docstring_or_a_number_is_refused(tmp_path: Path):
    with pytest.raises(redteam.BadHeader, match="no docstring"):
        redteam.header_of("import os\n# attacks: 01_add\n# stopped: load exit\n")
    with pytest.raises(redteam.BadHeader, match=r"cheat\.py is not named"):
        _ = redteam.Cheat(tmp_path / "cheat.py").number


# -- what became of a cheat


def result(status: str, *steps: dict, share: float | None = None) -> Result:
    environment = {"grader": "0", "python": "3", "device": "cpu", "simulated": True}
    speed = None
    if share is not None:
        whole = ("bytes_moved", "goes", "calls_per_go")
        others = ("time_ms", "bandwidth_gbps", "ceiling_gbps", "share_low", "share_high")
        others += ("passing", "great", "first_call_s", "latency_us")
        speed = {"case": "", "latency_case": "", "share": share}
        speed |= dict.fromkeys(whole, 1) | dict.fromkeys(others, 1.0)
    told = {"points": 0, "max_points": 1, "duration_s": 0.1, "summary": "", "speed": speed}
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
        "steps": [told | step for step in steps],
    }
    return Result.model_validate_json(json.dumps(record))


PASS = {"name": "speed", "outcome": "pass"}


def failing(name: str, kind: str, outcome: str = "fail") -> dict:
    return {"name": name, "outcome": outcome, "failure": {"kind": kind, "message": "why"}}


STOPPED, HARMLESS = "# stopped: correctness value", "# harmless: at most 1.02"


@pytest.mark.parametrize(
    ("line", "made", "status", "ok"),
    [
        (STOPPED, result("fail", failing("correctness", "value")), "stopped", True),
        (STOPPED, result("fail", failing("correctness", "rms")), "stopped elsewhere", False),
        (STOPPED, result("fail", failing("traffic", "value")), "stopped elsewhere", False),
        (STOPPED, result("unfinished"), "stopped elsewhere", False),
        (STOPPED, result("pass", PASS), "passed", False),
        (STOPPED, None, "stopped elsewhere", False),
        ("# stopped: judge ended", None, "stopped", True),
        (
            "# stopped: speed noisy",
            result("cannot_grade", failing("speed", "noisy", "noisy")),
            "stopped",
            True,
        ),
        (STOPPED, result("cannot_grade", failing("speed", "noisy", "noisy")), "undecided", True),
        (HARMLESS, result("pass", PASS, share=0.91), "harmless", True),
        (HARMLESS, result("pass", PASS, share=0.93), "gained", False),
        (HARMLESS, result("pass", PASS), "passed", False),
        (HARMLESS, result("fail", failing("speed", "impossible")), "stopped elsewhere", False),
        ("# passes: so", result("pass", PASS), "not defended", True),
        ("# passes: so", result("fail", failing("load", "exit")), "stopped after all", True),
    ],
)
def test_what_becomes_of_a_cheat(
    tmp_path: Path, line: str, made: Result | None, status: str, ok: bool
):
    path = tmp_path / "c01_cheat.py"
    path.write_text(f'"""Cheats."""\n# attacks: 01_vector_add\n{line}\n')
    fate = redteam.fate_of(redteam.Cheat(path), made, 0.9, "it ended", 1.0)
    assert (fate.status, fate.ok) == (status, ok)


def test_a_judge_that_ends_is_an_end_and_a_machine_that_cannot_grade_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "c01_cheat.py"
    path.write_text('"""Cheats."""\n# attacks: 01_vector_add\n# stopped: judge ended\n')
    raised: list[Exception] = [GraderError("it ended"), CannotGrade("no GPU", "buy one")]

    def run(*_: object) -> None:
        raise raised.pop(0)

    monkeypatch.setattr(check, "run", run)
    fate = redteam.judged(redteam.Cheat(path), EXERCISES["01_vector_add"], "cpu", None)
    assert (fate.status, fate.step, fate.kind, fate.message) == (
        *("stopped", "judge", "ended"),
        "it ended",
    )
    with pytest.raises(CannotGrade):
        redteam.judged(redteam.Cheat(path), EXERCISES["01_vector_add"], "cpu", None)


# -- the script


def test_shards_are_disjoint_and_complete():
    parts = [redteam.part(CHEATS, f"{number}/3") for number in (1, 2, 3)]
    assert sorted(cheat.name for one in parts for cheat in one) == [one.name for one in CHEATS]
    for bad in ("0/3", "4/3", "1", "a/b"):
        with pytest.raises(redteam.UsageError, match="There is no shard"):
            redteam.part(CHEATS, bad)


def test_one_that_passes_makes_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "record.json"
    made = [result("fail", failing("correctness", "never_written"))]
    monkeypatch.setattr(check, "run", lambda *_: made)
    arguments = ["c01_prints_the_verdict", "c09_halves_every_event", "--out", str(out)]
    assert redteam.main(arguments) == 0
    record = json.loads(out.read_text())
    assert (record["ok"], record["left_out"]) == (True, ["c09_halves_every_event"])
    assert [one["status"] for one in record["cheats"]] == ["stopped"]
    assert "1 cheats: 1 stopped; 1 that need a GPU were left out" in capsys.readouterr().out
    made[:] = [result("pass", PASS)]
    assert redteam.main(arguments) == 1
    assert "NOT OK: it passed" in capsys.readouterr().out
    assert redteam.main(["c01_is_not_there"]) == 2

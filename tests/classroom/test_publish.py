"""Solutions are published whole, as the policy says, with figures that a result of them holds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import publications
import pytest
from publications import counted, lines, result, simulated

from grader import cli
from grader.classroom import documents
from grader.classroom.publish import evidence, mistakes, models, records, sources
from grader.classroom.publish.records import Solutions
from grader.course import catalog, progress
from grader.course.exercise import Exercise
from grader.course.settings import Policy
from grader.grading import check
from grader.grading.plan import with_step
from grader.model import texts
from grader.model.outcomes import Status
from grader.model.results import parse_result
from grader.reports import solution_markdown, solution_pages
from grader.reports import solutions as pages
from grader.reports.result_plots import plots

pytestmark = pytest.mark.slow

NOW = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = publications.make(tmp_path)
    monkeypatch.setenv("GRADER_COURSE", str(made))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(tmp_path)
    return made


@pytest.fixture
def publish(root: Path, tmp_path: Path) -> Callable[..., int]:
    """`grader solutions publish --out OUT` with more arguments, to its exit code."""

    def run(*arguments: object) -> int:
        return cli.main(
            ["solutions", "publish", "--out", str(tmp_path / "out"), *map(str, arguments)]
        )

    return run


def record(out: Path) -> Solutions:
    return records.from_json((out / "solutions.json").read_bytes())


def model(root: Path, name: str = "01_double", results: str = "") -> models.Model:
    given = [parse_result(line) for line in results.splitlines()]
    (one,), problems = models.collect([catalog.find(root, name)], given)
    assert problems == []
    return one


def read(tmp_path: Path, content: str) -> tuple[list[Any], list[str]]:
    file = tmp_path / "results.jsonl"
    file.write_text(content)
    given = evidence.read([file], NOW)
    problems = [line.replace(str(file), "FILE") for line in documents.problem_lines(given.problems)]
    return [result for _, result in given.things], problems


# -- what is written


def test_a_course_becomes_a_folder_of_pages_markdown_and_kernels(root, publish, tmp_path, capsys):
    (tmp_path / "results.jsonl").write_text(lines(result(root), counted(root)))
    assert publish("--results", tmp_path / "results.jsonl") == 0
    out = tmp_path / "out"
    files = sorted(p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file())
    assert files == [
        "01_double/README.md",
        "01_double/commentary.md",
        "01_double/index.html",
        "01_double/kernel.py",
        "01_double/share.svg",
        "01_double/traffic.svg",
        "01_double/wrong_no_mask.py",
        "02_row_sum/README.md",
        "02_row_sum/index.html",
        "02_row_sum/kernel.py",
        "README.md",
        "index.html",
        "p01_transpose/README.md",
        "p01_transpose/counts.svg",
        "p01_transpose/index.html",
        "p01_transpose/kernel.py",
        "p01_transpose/traffic.svg",
        "solutions.json",
    ]
    told = record(out)
    assert (told.course, told.version, told.policy) == ("small", "2026.1", "now")
    assert [one.name for one in told.exercises] == ["p01_transpose", "01_double", "02_row_sum"]
    assert sorted({*told.files, "solutions.json"}) == files
    for one in told.exercises:
        solution = root / "solutions" / one.name / "kernel.py"
        assert (out / one.name / "kernel.py").read_bytes() == solution.read_bytes()
        assert one.sha256 == sources.digest(solution.read_text())
    said = capsys.readouterr()
    assert said.out == ""
    assert "02_row_sum: Nothing is measured here: no result of this solution was given" in said.err


def test_the_same_course_and_results_make_the_same_files(root, publish, tmp_path):
    (tmp_path / "results.jsonl").write_text(lines(result(root)))
    contents = []
    for _ in range(2):
        assert publish("--results", tmp_path / "results.jsonl") == 0
        out = tmp_path / "out"
        contents.append({p: p.read_bytes() for p in out.rglob("*") if p.is_file()})
    assert contents[0] == contents[1]
    assert not list(tmp_path.glob(".out*")), "nothing is left beside the folder"


def test_only_those_named_in_the_order_of_the_course(publish, tmp_path):
    assert publish("--only", "02", "--only", "p01_transpose") == 0
    told = record(tmp_path / "out")
    assert [one.name for one in told.exercises] == ["p01_transpose", "02_row_sum"]
    assert not (tmp_path / "out" / "01_double").exists()


def test_what_cannot_be_published_is_named_and_the_rest_is_written(root, publish, tmp_path, capsys):
    (root / "solutions" / "02_row_sum" / "kernel.py").unlink()
    (root / "solutions" / "01_double" / "wrong_bytes.py").write_bytes(b'"""\xff"""')
    (root / "solutions" / "p01_transpose" / "commentary.md").write_bytes(b"\xff")
    assert publish() == 4
    said = capsys.readouterr().err
    assert "02_row_sum is left out: " in said
    assert "wrong_bytes.py is not written in UTF-8." in said
    assert "commentary.md is not written in UTF-8." in said
    assert [one.name for one in record(tmp_path / "out").exercises] == [
        "p01_transpose",
        "01_double",
    ]


def test_a_solution_without_markers_or_of_great_size(root, tmp_path):
    solution = root / "solutions" / "01_double" / "kernel.py"
    plain = [line for line in solution.read_text().splitlines() if "SOLUTION" not in line]
    solution.write_text("\n".join(plain) + "\n")
    assert model(root).learner_lines == frozenset()
    solution.write_text("x = 1\n" * (1 << 18))
    _, problems = models.collect([Exercise(root / "exercises" / "01_double")], [])
    assert problems == [f"01_double is left out: {solution} has more than 1,048,576 bytes."]


def test_line_ends_of_a_kernel_stay_as_they_are(root, publish, tmp_path):
    solution = root / "solutions" / "01_double" / "kernel.py"
    solution.write_bytes(solution.read_bytes().replace(b"\n", b"\r\n"))
    assert publish("--only", "01") == 0
    assert (tmp_path / "out" / "01_double" / "kernel.py").read_bytes() == solution.read_bytes()
    assert cli.main(["solution", "01", "--from", str(tmp_path / "out")]) == 0


# -- mistakes


def test_a_mistake_says_what_is_wrong_where_it_is_rejected_and_what_differs(root):
    (mistake,) = model(root).mistakes
    assert mistake.description == "Leaves out the mask: `inside` is for everybody."
    assert mistake.step == "correctness"
    assert mistake.luck == "may pass by luck, because nobody looks behind the end."
    assert mistake.diff == (
        "     offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
        "-    inside = offsets < n",
        "-    x = tl.load(x_ptr + offsets, mask=inside)",
        "-    tl.store(out_ptr + offsets, 2 * x, mask=inside)",
        "+    x = tl.load(x_ptr + offsets)",
        "+    tl.store(out_ptr + offsets, 2 * x)",
        " def double(x, out):",
    )


@pytest.mark.parametrize(
    ("source", "told", "step"),
    [
        ("x = 1\n", "", None),
        ("not Python (\n", "", None),
        ('"""\nRejected at: speed\n"""\n', "", "speed"),
        ('"""Too slow.\nRejected at: speed\n"""\n', "Too slow.", "speed"),
        ('"""Rejected at: nowhere"""\n', "", None),
        ("\x00\x0c", "", None),
    ],
)
def test_a_wrong_kernel_of_any_form_is_shown(root, source, told, step):
    path = root / "solutions" / "01_double" / "wrong_no_mask.py"
    path.write_text(source)
    one = model(root)
    (mistake,) = one.mistakes
    assert (mistake.description, mistake.step) == (told, step)
    page = pages.published(settings_of(root), [one]).files["01_double/index.html"]
    assert (told or "<span>no mask</span>") in page


def test_a_long_difference_is_cut_and_says_so(root):
    path = root / "solutions" / "01_double" / "wrong_no_mask.py"
    path.write_text("".join(f"x{n} = {n}\n" for n in range(200)))
    one = model(root)
    (mistake,) = one.mistakes
    assert len(mistake.diff) == mistakes.MOST_DIFF_LINES
    assert mistake.cut > 100
    files = pages.published(settings_of(root), [one]).files
    for name in ("index.html", "README.md"):
        assert f"{mistake.cut} more lines differ." in files[f"01_double/{name}"]


def settings_of(root: Path) -> Any:
    from grader.course import settings

    return settings.read(root)


# -- text of others


HOSTILE = '<img src=x onerror="alert(1)"> [a](javascript:alert(1)) ![p](http://x.test/p.png) | * _'


def test_a_file_of_any_name_is_published_or_named(root, publish, tmp_path, capsys):
    for folder_of in (root / "exercises", root / "solutions"):
        (folder_of / "01_double").rename(folder_of / "01 <i>&#%?")
        shutil.copytree(folder_of / "02_row_sum", folder_of / "03\nline")
    (root / "solutions" / "02_row_sum" / "wrong_\u202e.py").write_text("x = 1\n")
    assert publish() == 4
    said = capsys.readouterr().err
    assert "'03\\nline' is not the name of a file that can be published." in said
    assert "'wrong_\\u202e.py' is not the name of a file that can be published." in said
    out = tmp_path / "out"
    assert (out / "01 <i>&#%?" / "kernel.py").is_file()
    index = (out / "index.html").read_text()
    assert 'href="01%20%3Ci%3E%26%23%25%3F/index.html"' in index
    assert "<i>" not in index
    assert cli.main(["solution", "01 <i>&#%?", "--from", str(out)]) == 0


def test_nothing_in_a_docstring_or_commentary_becomes_markup(root):
    answers = root / "solutions" / "01_double"
    (answers / "commentary.md").write_text(f"{HOSTILE}\n\n<script>alert(1)</script>\n")
    (answers / "wrong_no_mask.py").write_text(f"'''{HOSTILE}\n\nRejected at: load\n'''\n")
    (answers / "wrong_<b>&.py").write_text("x = '</pre><script>'\n")
    files = pages.published(settings_of(root), [model(root)]).files
    page = files["01_double/index.html"]
    for tag in (
        "<img src=x",
        "<script",
        "</pre><script",
        'href="javascript',
        "http://x.test/p.png>",
    ):
        assert tag not in page
    assert page.count("<img") == 0
    assert "&lt;img src=x onerror=" in page
    assert 'href="wrong_%3Cb%3E%26.py"' in page
    markdown = files["01_double/README.md"]
    told = markdown[markdown.index("## Mistakes") :]
    assert "<img" not in told.replace(r"\<img", "")
    assert "](javascript" not in told.replace(r"\](javascript", "")


def test_a_docstring_in_place_of_a_commentary_is_shown_to_the_letter(root):
    solution = root / "solutions" / "01_double" / "kernel.py"
    body = solution.read_text().partition('"""\n')[2]
    docstring = (
        "1. Twice *x*, as `2 * x`:\n\n    out[i] = 2 * x[i]  # <b>\n\n<b>Not</b> bold_at_all_."
    )
    solution.write_text(f'"""{docstring}\n"""\n{body}')
    (root / "solutions" / "01_double" / "commentary.md").unlink()
    one = model(root)
    assert not one.own
    assert str(solution_pages.markdown(one.commentary)) == (
        "<p>1. Twice *x*, as <code>2 * x</code>:</p>\n"
        "<pre><code>out[i] = 2 * x[i]  # &lt;b&gt;\n</code></pre>\n"
        "<p>&lt;b&gt;Not&lt;/b&gt; bold_at_all_.</p>\n"
    )


@pytest.mark.parametrize(
    "text", ["a\nb", "# no\theading", "- no list", "12. none", "a | b", "\x1b[1m\u202ex", "`a` <b>"]
)
def test_escaped_text_is_itself_in_markdown(text):
    shown = str(solution_pages.markdown(texts.markdown(text)))
    plain = " ".join(
        "".join(c if c.isprintable() or c.isspace() else "\ufffd" for c in text).split()
    )
    assert shown == f"<p>{plain.replace('<', '&lt;').replace('>', '&gt;')}</p>\n"


def test_headings_of_a_commentary_stand_below_those_of_the_page(root):
    one = model(root)
    files = pages.published(settings_of(root), [one]).files
    assert "<h3>Why it is built so</h3>" in files["01_double/index.html"]
    assert "### Why it is built so" in files["01_double/README.md"]
    assert solution_markdown._demoted("```\n# code\n```\n# text") == "```\n# code\n```\n### text"


def test_code_in_a_difference_cannot_end_its_fence(root):
    path = root / "solutions" / "01_double" / "wrong_no_mask.py"
    path.write_text("x = '''\n```\n# out of it\n'''\n")
    markdown = pages.published(settings_of(root), [model(root)]).files["01_double/README.md"]
    assert "\n````diff\n" in markdown


def test_an_argument_of_any_name_is_drawn(root):
    made = result(root)
    for name in ("$x^$", "_", "a\x00\x1b<b>", "x" * 1000, "\u6570"):
        made["steps"][3]["traffic"][0]["argument"] = name
        picture = plots(parse_result(json.dumps(made)).steps)[1]
        assert "\x00" not in picture.svg
        assert "<b>" not in picture.svg
        assert name[:20].split("\x00")[0].rstrip("$") in picture.svg
        assert len(picture.alt) < 200


# -- figures


def test_a_figure_names_gpu_driver_versions_and_date(root):
    files = pages.published(settings_of(root), [model(root, results=lines(result(root)))]).files
    where = (
        "Measured on NVIDIA H200 · driver 580.159.04 · torch 2.11.0 · triton 3.6.0 · numba-cuda "
        "0.30.4 · Python 3.12.3 · kernel-grader 0.1.0 · 20 November 2026"
    )
    page, markdown = (files[f"01_double/{name}"] for name in ("index.html", "README.md"))
    assert where in page
    assert where in markdown
    for figure in ("67.2 %", "66.1 %", "68.3 %", "2,863 GB/s", "4,260 GB/s", "1.500 ms"):
        assert figure in page
        assert figure in markdown
    assert "67.2\N{NO-BREAK SPACE}% of the ceiling, NVIDIA H200" in files["index.html"]
    assert "double_kernel" in page


def test_pictures_show_only_what_the_result_holds(root):
    drawn = {
        kind: [plot.name for plot in plots(parse_result(json.dumps(made)).steps)]
        for kind, made in {
            "timed": result(root),
            "simulated": simulated(root),
            "counted": counted(root),
        }.items()
    }
    assert drawn == {
        "timed": ["share", "traffic"],
        "simulated": ["traffic"],
        "counted": ["traffic", "counts"],
    }


def test_a_picture_says_in_words_what_it_shows(root):
    share, traffic = plots(parse_result(json.dumps(result(root))).steps)
    (*_, counts) = plots(parse_result(json.dumps(counted(root))).steps)
    assert share.alt == (
        "Share of the ceiling: 67.2 %, 95 % interval 66.1 % to 68.3 %. 60 % passes, 90 % is great; "
        "its traffic allows 75 %."
    )
    assert traffic.alt == "Traffic: x read once (at most once); out written once (at most once)."
    assert counts.alt == (
        "Counts: 36 transactions, at most 40 allowed; 0 barriers, at most 0 allowed."
    )
    for plot in (share, traffic, counts):
        assert f"<title>{plot.alt}</title>" in plot.svg
    for text in ("67.2 %", "pass 60 %", "great 90 %", "its traffic allows 75 %"):
        assert f">{text}</text>" in share.svg
    assert ">36 of 40</text>" in counts.svg


def held_to_roofs(root):
    """A kernel that does 0.5 and 64 operations a byte, in 1 ms and in 2."""
    made = result(root)
    (speed,) = [step["speed"] for step in made["steps"] if step["speed"]]
    memory, arithmetic = (
        speed | {"case": case, "bound": "roofline", "time_ms": ms, "rate": rate, "roofs": roofs}
        for case, ms, rate, roofs in (
            ("2 elements of float32", 1.0, 1.5, ((2.0, 50.0))),
            ("256 elements of float32", 2.0, 40.0, ((256.0, 50.0))),
        )
    )
    for one, operations in ((memory, 1.5e9), (arithmetic, 80e9)):
        one["roofs"] = [
            {"name": name, "rate": rate}
            for name, rate in zip(("memory", "arithmetic"), one["roofs"], strict=True)
        ]
        one["bytes_moved"] = int(operations / (0.5 if one is memory else 64))
    speed |= memory | {"sizes": [memory, arithmetic]}
    return made


def test_a_roofline_has_a_point_for_each_size(root):
    share, roofline, _ = plots(parse_result(json.dumps(held_to_roofs(root))).steps)
    assert (share.name, roofline.title) == ("share", "Roofline")
    assert roofline.alt == (
        "Roofline: memory allows 4 TB/s and arithmetic 50 TFLOP/s, which meet at 12.5 operations a "
        "byte. 2 elements of float32: 1.5 TFLOP/s at 0.5 operations a byte; 256 elements of "
        "float32: 40 TFLOP/s at 64 operations a byte."
    )
    assert f"<title>{roofline.alt}</title>" in roofline.svg


@pytest.mark.parametrize("rate", [0.0, None], ids=["zero", "absent"])
def test_without_both_roofs_there_is_no_roofline(root, rate):
    made = held_to_roofs(root)
    for step in made["steps"]:
        for size in step["speed"]["sizes"] if step["speed"] else ():
            size["roofs"] = [] if rate is None else [one | {"rate": rate} for one in size["roofs"]]
    assert [plot.name for plot in plots(parse_result(json.dumps(made)).steps)] == [
        "share",
        "traffic",
    ]


def test_figures_are_those_of_the_very_file_and_the_newest(root):
    older = result(root, started_at="2026-11-01T00:00:00+00:00")
    newer = result(root, started_at="2026-11-02T01:00:00+02:00", seed=5)
    newest = simulated(root, started_at="2026-11-03T00:00:00Z", seed=6)
    other = result(root, started_at="2026-11-04T00:00:00Z", seed=7)
    other["kernel"] = other["kernel"] | {"sha256": "0" * 64}
    failed = result(root, started_at="2026-11-05T00:00:00Z", seed=8, status="fail")
    chosen = model(root, results=lines(newer, older, newest, other, failed)).evidence
    assert chosen.result is not None
    assert chosen.result.seed == 5, "one that was timed goes before a newer one that was not"
    assert chosen.missing == ""
    assert model(root, results=lines(older, newest)).evidence.result.seed == older["seed"]


def test_results_that_are_of_no_solution_are_named(root, tmp_path, publish, capsys):
    """They were dropped in silence: a misspelt exercise looked as if it were not measured."""
    mine, other = result(root), result(root, seed=7)
    other["kernel"] = other["kernel"] | {"sha256": "0" * 64}
    nowhere = result(root, exercise="99_nope\n")
    older = result(root, started_at="2026-11-01T00:00:00+00:00")
    file = tmp_path / "results.jsonl"
    file.write_text(lines(mine, other, nowhere, mine, older))
    assert publish("--results", file) == 0
    told = capsys.readouterr().err.replace(str(file), "FILE").splitlines()
    assert [line for line in told if "FILE" in line] == [
        "note: FILE, line 2: it is of another file than the present solution of 01_double",
        r"note: FILE, line 3: it is of '99_nope\n', which is not published here",
        "note: FILE, line 4: it is the same result as in FILE, line 1, and counts once",
    ]


def test_what_is_not_measured_is_said_and_why(root):
    other = result(root)
    other["kernel"] = other["kernel"] | {"sha256": "0" * 64}
    busy = result(root)
    busy["steps"][-1] |= {"outcome": "skip", "summary": "the GPU is busy", "speed": None}
    for given, said in (
        (
            lines(result(root, exercise="02_row_sum")),
            "Nothing is measured here: no result of this solution was given",
        ),
        (lines(other), "are of other files, not of this solution."),
        (
            lines(result(root, status="fail")),
            "newest result of this solution ended as “fail”, not as a pass.",
        ),
        (lines(simulated(root)), "Its speed is not measured: the result was simulated on a CPU"),
        (lines(busy), "Its speed is not measured: the GPU is busy."),
    ):
        one = model(root, results=given)
        assert said in one.evidence.missing
        files = pages.published(settings_of(root), [one]).files
        assert said in files["01_double/index.html"]
        assert said in files["01_double/README.md"]
        assert "of a ceiling of" not in files["01_double/index.html"]
    puzzle = model(root, "p01_transpose", lines(counted(root)))
    assert puzzle.evidence.missing == "", "its speed is nobody's business"


def test_the_index_says_of_each_solution_what_was_measured(root):
    """Of a puzzle, which has no speed, the page said nothing while the Markdown did."""
    for given, said in (
        (lines(counted(root)), "counted in simulation"),
        (lines(result(root)), "nothing measured"),
    ):
        puzzle = model(root, "p01_transpose", given)
        files = pages.published(settings_of(root), [puzzle]).files
        assert said in files["index.html"]
        assert said in files["README.md"]


def test_simulated_results_still_tell_traffic_and_memory(root):
    files = pages.published(settings_of(root), [model(root, results=lines(simulated(root)))]).files
    assert "a call held nothing, as worked out in simulation" in files["01_double/index.html"]
    assert "Simulated on a CPU" in files["01_double/index.html"]
    assert "01_double/traffic.svg" in files
    assert "01_double/share.svg" not in files


# -- files of results


def test_results_come_as_lines_documents_and_attempts(root, tmp_path):
    one = result(root)
    attempt = {
        "schema": "grader/attempt/v1",
        "id": "0" * 32,
        "course": "small",
        "version": "1",
        "student": "ada",
        "submitted_at": "2026-11-20T00:00:00Z",
        "result": one,
    }
    contents = {"a.jsonl": lines(one), "b.json": json.dumps(one, indent=2), "c": lines(attempt)}
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
        given = evidence.read([tmp_path / name], NOW)
        assert [each.seed for _, each in given.things] == [one["seed"]]
        assert given.problems == []


# In the words of the export and of the leaderboard.
CUT = "it is no whole JSON: it may have been cut off"
NO_RECORD = "it is not a record of this grader: it has no schema"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "FILE: it is empty"),
        ('{"schema": "grader/result/v1", "exer', f"FILE, line 1: {CUT}"),
        ("[" * 100_000, f"FILE, line 1: {CUT}"),
        (
            '{"schema": "grader/result/v2"}',
            "FILE, line 1: it is a grader/result/v2, and grader/result/v1 is needed",
        ),
        ('{"share": 1}', f"FILE, line 1: {NO_RECORD}"),
        ('{"schema": "grader/result/v1"}', "FILE, line 1: it is no whole grader/result/v1:"),
        ("[1]", f"FILE, line 1: {NO_RECORD}"),
        ('"a text"', f"FILE, line 1: {NO_RECORD}"),
    ],
)
def test_what_is_no_result_is_named(tmp_path, content, said):
    found, problems = read(tmp_path, content)
    assert found == []
    assert len(problems) == 1
    assert problems[0].startswith(said)


def test_one_bad_line_stops_no_other(root, tmp_path, publish, capsys):
    content = "garbage\n" * 100 + lines(result(root)) + json.dumps(result(root))[:400]
    found, problems = read(tmp_path, content)
    assert len(found) == 1
    assert problems == [
        f"FILE, line 1 and 99 more: {CUT}",
        *(f"    and FILE, line {number}" for number in range(2, 101)),
        "FILE: 1 more of its lines cannot be used",
    ]
    assert publish("--results", tmp_path / "results.jsonl") == 0
    assert (tmp_path / "out" / "01_double" / "share.svg").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"started_at": "2031-01-01T00:00:00Z"},
            "it is dated 2031-01-01T00:00:00Z, which",
        ),
        ({"started_at": "yesterday"}, "started_at is not a time: 'yesterday'"),
        ({"exercise": "\ud800"}, "it is no whole grader/result/v1"),
        ({"points": "7"}, "it is no whole grader/result/v1: points:"),
        ({"duration_s": float("nan")}, "it is no whole grader/result/v1: duration_s:"),
    ],
)
def test_a_result_that_cannot_be_believed_is_left_out(root, tmp_path, change, said):
    found, problems = read(tmp_path, lines(result(root, **change)))
    assert found == []
    assert said in problems[0]


def test_without_any_results_the_publication_says_so_once(root, publish, tmp_path):
    """The index said "nothing measured" 27 times, and each page had a heading without a figure."""
    assert publish() == 0
    files = {
        path: path.read_text()
        for path in (tmp_path / "out").rglob("*.*")
        if path.suffix in (".md", ".html")
    }
    for path, text in files.items():
        at_top = path.parent.name == "out"
        assert text.count("No results of the solutions were given") == at_top, path
        assert "othing is measured" not in text
        assert "nothing measured" not in text
        assert "igures</h2>" not in text
        assert "## Figures" not in text
        assert 'href="#figures"' not in text


def test_results_of_which_none_can_be_used_are_refused_at_once(tmp_path, publish, capsys):
    """Signed ones were left out, and a note on each solution, 27 of them, hid that."""
    (tmp_path / "ada.jsonl").write_text('{"schema": "grader/signed/v1"}\n')
    assert publish("--results", tmp_path / "ada.jsonl") == 2
    err = capsys.readouterr().err
    assert "line 1: it is a grader/signed/v1, and grader/result/v1 is needed" in err
    assert "error: No file that --results names holds a result of a solution." in err
    assert "note:" not in err
    assert not (tmp_path / "out").exists()


def test_solutions_of_which_the_same_is_missing_share_a_note(root, publish, tmp_path, capsys):
    (tmp_path / "one.json").write_text(lines(result(root, exercise="99_other")))
    assert publish("--results", tmp_path / "one.json") == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if line.startswith("note: ")]
    assert len(notes) == 2, "one is of the result that is of none of them"
    assert notes[1].startswith(
        "note: p01_transpose, 01_double, 02_row_sum: Nothing is measured here"
    )


def test_a_missing_file_is_reported_before_anything_is_written(tmp_path, publish, capsys):
    assert publish("--results", tmp_path / "missing") == 2
    assert f"There is no file or folder {tmp_path / 'missing'}." in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# -- when


@pytest.mark.parametrize(
    ("now", "comes"),
    [
        (datetime(2026, 12, 17, 23, 59, 59, tzinfo=UTC), True),
        (datetime(2026, 12, 18, tzinfo=UTC), False),
        (datetime(2026, 12, 18, 0, 30, tzinfo=timezone(timedelta(hours=1))), True),
        (datetime(2026, 12, 17, 20, 0, tzinfo=timezone(timedelta(hours=-5))), False),
    ],
)
def test_a_day_begins_at_midnight_utc(now, comes):
    day = date(2026, 12, 18)
    policy = Policy.parse("after:2026-12-18")
    assert records.future_release(policy, now) == (day if comes else None)


@pytest.mark.parametrize("policy", ["now", "on-pass", "never"])
def test_other_policies_have_no_day(policy):
    assert records.future_release(Policy.parse(policy), NOW) is None


def solution_lines(root: Path) -> set[str]:
    """Every line of what must stay hidden that says anything."""
    files = [*root.glob("solutions/*/*.py"), *root.glob("solutions/*/*.md")]
    found = {line.strip() for path in files for line in path.read_text().splitlines()}
    return {line for line in found if len(line) > 8}


@pytest.mark.parametrize("earlier", [False, True])
def test_before_the_day_nothing_that_is_written_holds_a_solution(
    root, publish, tmp_path, capsys, earlier
):
    (tmp_path / "results.jsonl").write_text(lines(result(root)))
    if earlier:  # an earlier publication, with all in it, is taken back
        assert publish() == 0
        capsys.readouterr()
    before = {p: p.read_bytes() for p in root.rglob("*") if p.is_file()}
    assert publish("--when", "after:2999-12-31", "--results", tmp_path / "results.jsonl") == 0
    said = capsys.readouterr()
    assert "solutions come on 2999-12-31 (UTC)" in said.err
    written = [p for p in tmp_path.rglob("*") if p.is_file() and root not in p.parents]
    texts = [p.read_text() for p in written] + [said.out, said.err]
    secrets = solution_lines(root)
    assert len(secrets) > 40
    assert [secret for secret in secrets if any(secret in text for text in texts)] == []
    assert sorted(p.relative_to(tmp_path).as_posix() for p in written) == [
        "out/README.md",
        "out/index.html",
        "out/solutions.json",
        "results.jsonl",
    ]
    assert "31 December 2999" in (tmp_path / "out" / "index.html").read_text()
    assert record(tmp_path / "out").exercises == ()
    now = {p: p.read_bytes() for p in root.rglob("*") if p.is_file() and p.suffix != ".pyc"}
    assert now == {p: b for p, b in before.items() if p.suffix != ".pyc"}


def test_the_test_above_would_see_a_solution(root, publish, tmp_path):
    assert publish() == 0
    texts = [p.read_text() for p in (tmp_path / "out").rglob("*") if p.is_file()]
    assert all(any(secret in text for text in texts) for secret in solution_lines(root))


def test_from_the_day_on_they_are_published(publish, tmp_path):
    assert publish("--when", "after:2026-01-01") == 0
    told = record(tmp_path / "out")
    assert len(told.exercises) == 3
    assert told.policy == "after:2026-01-01"


def test_never_is_refused_and_when_overrides_the_course(root, tmp_path, publish, capsys):
    text = (root / "course.toml").read_text()
    (root / "course.toml").write_text(text.replace('"now"', '"never"'))
    assert publish() == 2
    assert "The solutions of this course are never shown: course.toml says so" in (
        capsys.readouterr().err
    )
    assert not (tmp_path / "out").exists()
    assert publish("--when", "never") == 2
    assert publish("--when", "tomorrow") == 2
    assert "--when: 'tomorrow' is not one of now, never" in capsys.readouterr().err
    assert publish("--when", "on-pass") == 0
    assert record(tmp_path / "out").policy == "on-pass"


# -- the folder


def test_a_folder_with_other_content_is_refused(root, publish, tmp_path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    assert publish() == 0, "an empty folder is as good as none"
    (out / "notes.txt").write_text("mine")
    assert publish() == 2
    assert "holds what no publication made: 'notes.txt'" in capsys.readouterr().err
    assert (out / "notes.txt").read_text() == "mine"
    shutil.rmtree(out)
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    assert publish() == 2
    assert "has content that no publication made" in capsys.readouterr().err
    assert list(out.iterdir()) == [out / "notes.txt"]
    shutil.rmtree(out)
    out.write_text("a file")
    assert publish() == 2
    assert "is not a folder" in capsys.readouterr().err
    assert out.read_text() == "a file"


def test_another_course_is_not_replaced(root, publish, tmp_path, capsys):
    assert publish() == 0
    text = (root / "course.toml").read_text()
    (root / "course.toml").write_text(text.replace('"small"', '"large"'))
    assert publish() == 2
    assert "holds the solutions of another course, 'small'" in capsys.readouterr().err
    assert record(tmp_path / "out").course == "small"


def test_publishing_again_replaces_the_whole_folder(publish, tmp_path):
    assert publish() == 0
    assert publish("--only", "01") == 0
    assert not (tmp_path / "out" / "p01_transpose").exists()
    assert len(record(tmp_path / "out").exercises) == 1


def test_a_failure_while_writing_leaves_the_folder_as_it_was(
    publish, tmp_path, monkeypatch, capsys
):
    assert publish("--only", "01") == 0
    before = {p: p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file()}
    write = Path.write_bytes

    def full(self: Path, data: bytes) -> int:
        if self.name == records.FILE:
            raise OSError(28, "No space left on device")
        return write(self, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    assert publish() == 2
    assert "cannot be written: No space left on device." in capsys.readouterr().err
    assert {p: p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file()} == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["course", "out"]


def test_a_folder_that_is_not_there_to_write_in(root, tmp_path, capsys):
    assert cli.main(["solutions", "publish", "--out", str(tmp_path / "no" / "out")]) == 2
    assert "cannot be written: No such file or directory." in capsys.readouterr().err


# -- grader solution


def show(tmp_path: Path, name: str = "01_double") -> int:
    return cli.main(["solution", name, "--from", str(tmp_path / "out")])


def learner(root: Path) -> None:
    """Take from the course what a learner's copy has not."""
    shutil.rmtree(root / "solutions")


def test_a_solution_is_shown_with_its_commentary(root, publish, tmp_path, capsys):
    assert publish() == 0
    source = (root / "solutions" / "01_double" / "kernel.py").read_text()
    capsys.readouterr()
    assert cli.main(["solution", "01"]) == 0
    in_course = capsys.readouterr().out
    learner(root)
    assert show(tmp_path) == 0
    shown = capsys.readouterr().out
    assert shown == in_course
    assert shown.endswith(source)
    assert "It doubles." in shown
    assert "-  **One mask**, for load and store." in shown


def test_a_terminal_obeys_nothing_that_a_folder_holds(root, publish, tmp_path, capsys):
    (root / "solutions" / "01_double" / "commentary.md").write_text("\x1b[2J\u202e [bold]x[/bold]")
    assert publish() == 0
    capsys.readouterr()
    assert show(tmp_path) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[bold]x[/bold]" in shown


def test_a_learners_course_has_none(root, capsys):
    learner(root)
    assert cli.main(["solution", "01"]) == 2
    said = capsys.readouterr().err
    assert "This course holds no solution of 01_double." in said
    assert "grader solution 01_double --from DIR" in said


def test_never_and_not_yet_are_refused(root, publish, tmp_path, capsys):
    text = (root / "course.toml").read_text()
    for policy, said in (
        ("never", "The solutions of this course are not shown."),
        ("after:2999-12-31", "The solutions are shown from 2999-12-31 on (0:00 UTC)."),
    ):
        (root / "course.toml").write_text(text.replace('"now"', f'"{policy}"'))
        assert cli.main(["solution", "01"]) == 2
        told = capsys.readouterr()
        assert said in told.err
        assert told.out == ""
    assert publish() == 0
    assert show(tmp_path) == 2
    assert "shown from 2999-12-31 on" in capsys.readouterr().err


@pytest.mark.parametrize("file", ["kernel.py", "commentary.md"])
def test_an_edited_folder_is_named_and_not_shown(publish, tmp_path, capsys, file):
    assert publish() == 0
    path = tmp_path / "out" / "01_double" / file
    path.write_text(path.read_text() + "\n")
    capsys.readouterr()
    assert show(tmp_path) == 2
    told = capsys.readouterr()
    assert f"{path} was changed since it was published" in told.err
    assert told.out == ""
    path.unlink()
    assert show(tmp_path) == 2
    assert f"{path} cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "holds no published solutions: there is no solutions.json."),
        ("{", "is not a record of published solutions that this version reads."),
        ('{"schema": "grader/solutions/v2"}', "is not a record of published solutions"),
        ("policy", "is not a record of published solutions"),
        ("name", "is not a record of published solutions"),
    ],
)
def test_a_folder_of_something_else(publish, tmp_path, capsys, content, said):
    assert publish() == 0
    path = tmp_path / "out" / "solutions.json"
    told = json.loads(path.read_text())
    path.unlink()
    if content == "policy":
        content = json.dumps(told | {"policy": "whenever"})
    if content == "name":
        content = json.dumps(told | {"exercises": [told["exercises"][0] | {"name": "../course"}]})
    if content is not None:
        path.write_text(content)
    assert show(tmp_path) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", ["01_double", "01", "1", "dou", "DOUBLE"])
def test_a_solution_is_named_as_an_exercise_is(publish, tmp_path, capsys, name):
    assert publish() == 0
    assert show(tmp_path, name) == 0
    assert "def double(" in capsys.readouterr().out


def test_a_part_that_several_solutions_have_names_them(root, publish, tmp_path, capsys):
    for shelf in ("exercises", "solutions"):
        shutil.copytree(root / shelf / "01_double", root / shelf / "04_double_more")
    assert publish() == 0
    assert show(tmp_path, "dou") == 2
    assert "'dou' means 01_double and 04_double_more." in capsys.readouterr().err


def test_an_unknown_name_lists_what_there_is(publish, tmp_path, capsys):
    assert publish() == 0
    assert show(tmp_path, "09") == 2
    said = capsys.readouterr().err
    assert "holds no solution named '09'" in said
    assert "It holds p01_transpose, 01_double, 02_row_sum." in said


def test_on_pass_asks_the_judge(root, publish, tmp_path, capsys, monkeypatch):
    assert publish("--when", "on-pass") == 0
    learner(root)
    capsys.readouterr()
    passed = parse_result((publications.COURSES / "result.json").read_bytes())
    asked = []

    def run(requests: Any, progress: Callable[[str], None]) -> list[Any]:
        asked.extend(requests)
        return [passed.model_copy(update={"status": statuses.pop()})]

    monkeypatch.setattr(check, "run", run)
    statuses = [Status.PASS, Status.CANNOT_GRADE, Status.FAIL]
    for code, said in (
        (1, "Not yet: your kernel ended as 'fail'."),
        (3, "The check could not decide whether your kernel passes: it ended as 'cannot grade'."),
    ):
        assert show(tmp_path) == code
        told = capsys.readouterr()
        assert told.out == ""
        assert said in told.err
        assert "`grader check 01_double` shows the whole report" in told.err
    standing = progress.read(root).standings["01_double"]
    assert (standing.passed, bool(standing.checked_at)) == (False, True)
    for _ in range(2):
        assert show(tmp_path) == 0
        assert "tl.store" in capsys.readouterr().out
    assert progress.read(root).standings["01_double"].passed
    assert len(asked) == 3, "a pass that is remembered is not asked for again"
    assert {request.kernel for request in asked} == {root / "exercises" / "01_double" / "kernel.py"}


def test_on_pass_with_a_kernel_that_was_not_started(root, publish, tmp_path, capsys):
    assert publish("--when", "on-pass") == 0
    source = (root / "solutions" / "p01_transpose" / "kernel.py").read_text()
    learner(root)
    capsys.readouterr()
    assert show(tmp_path, "p01") == 1
    told = capsys.readouterr()
    assert "your kernel ended as 'not started' at correctness" in told.err
    assert told.out == ""
    (root / "puzzles" / "p01_transpose" / "kernel.py").write_text(source)
    assert show(tmp_path, "p01") == 0
    assert capsys.readouterr().out.endswith(source)


# -- this course


def test_every_exercise_of_this_course_has_a_commentary_without_figures_typed_in():
    root = Path(__file__).parents[2]
    for exercise in with_step(catalog.exercises(root), "speed"):
        text = models.commentary_of(exercise)
        assert text, f"{exercise.name} has none"
        assert "GB/s" not in text
        assert " % of the ceiling" not in text
        assert "\n### " not in text
        assert text.count("\n## ") >= 3

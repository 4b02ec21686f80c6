"""Hold the documentation to the code: its commands run, its tables agree, its links lead on.

`python tests/pages.py` writes into the pages what their commands print now.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import statistics
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pages import (
    BLOCK,
    COMMANDS,
    PAGES,
    README,
    ROOT,
    RUN,
    STEPS,
    Command,
    commands,
    learners_copy,
    rows,
    run,
    section,
    shape,
)
from typer.main import get_command

from grader.authoring.lint import records as lint
from grader.authoring.lint.review import RULES
from grader.backends.triton.device.faults import Fault
from grader.classroom.publish import records as publish
from grader.cli.commands import app
from grader.course import manifest
from grader.doctor import records as doctor
from grader.grading.bench_record import Benchmark
from grader.grading.steps import every
from grader.model import attempts, class_run, errors, trace
from grader.model.results import json_schema
from grader.model.verdict import EXIT_CODES
from grader.reports.formats.registry import FORMATS
from grader.speed import clock
from grader.speed.bounds import find_bound
from grader.speed.bounds.latency import CALLS
from grader.speed.statistics import RERUN
from grader.worker.loop import Worker

pytestmark = pytest.mark.slow

# What sets the environment up, which these tests run in already. `.ci/run` runs `make test` itself,
# which sets up as `make setup` does; the others are `make` targets that it runs, or need no run.
SETS_UP = {"make setup", ". .venv/bin/activate", "make test"}

REPORTS = "Reports to other systems"
EXIT_BY_VERDICT = {"PASS": 0, "FAIL": 1, "NOT STARTED": 1}


def expected_exit(output: str) -> int:
    verdicts = re.findall(rf"^({'|'.join(EXIT_BY_VERDICT)})  ", output, re.MULTILINE)
    return EXIT_BY_VERDICT[verdicts[-1]] if verdicts else 0


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return learners_copy(tmp_path_factory.mktemp("course"))


Ran = Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def ran(copy: Path) -> Ran:
    """Run a command there, once: more than one page or test may show it."""
    return functools.cache(functools.partial(run, copy))


README_COMMANDS = list(commands(README.read_text(encoding="utf-8")))
SHOWN = {
    command.line: command
    for page in RUN
    for command in commands(page.read_text(encoding="utf-8"))
    if command.line not in SETS_UP
}


# -- commands


@pytest.mark.parametrize("command", SHOWN.values(), ids=lambda c: c.line)
def test_a_command_prints_what_its_page_shows(command: Command, ran: Ran):
    done = ran(command.line)
    if command.language == "console":
        assert shape(done.stdout) == shape(command.output), (
            "`python tests/pages.py` updates the page"
        )
    assert done.returncode == expected_exit(command.output), done.stderr


def test_readme_leads_to_a_green_check_in_five_lines(ran: Ran):
    lines = [command.line for command in README_COMMANDS if command.language == "sh"]
    assert lines[:2] == ["make setup", ". .venv/bin/activate"]
    assert lines[4].startswith("grader check ")
    assert "\nPASS  " in ran(lines[4]).stdout


def test_readme_fits_on_three_screens():
    lines = README.read_text(encoding="utf-8").splitlines()
    # A course may grow, and nobody sees comments.
    extra = [line for line in lines if re.match(r"\| \d\d_|<!-- ", line)]
    assert len(lines) - len(extra) <= 124
    assert max(len(line) for line in lines if not line.startswith(("|", " "))) <= 100


def test_readme_names_commands_as_their_page_does():
    ours = {row[0]: row[1] for row in rows(section(README, "Commands"))}
    known = {row[0].replace("...", ""): row[1] for row in rows(section(COMMANDS, "Commands"))}
    assert ours
    assert [known[name][:20] for name in ours] == [said[:20] for said in ours.values()]


@pytest.mark.parametrize("line", sorted(SETS_UP))
def test_what_sets_up_is_sound(line: str):
    assert any(command.line == line for command in README_COMMANDS), "README does not name it"
    assert run(ROOT, f"bash -n <<< '{line}'").returncode == 0
    if line.startswith("make "):
        assert run(ROOT, line.replace("make", "make --dry-run")).returncode == 0


def test_ci_runs_the_test_command_of_readme():
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    ci = [line.strip() for line in lines]
    verify = 'make verify MUTANTS=1 SAMPLE=2 CHANGED_SINCE="$since"'
    assert {"make lint", "make test", verify} <= set(ci)
    assert run(ROOT, "bash -n .ci/run").returncode == 0


@pytest.mark.parametrize(
    ("line", "planned"),
    [
        ("make check", "grader check 04_online_softmax --device auto --solution"),
        (
            "make check EX=01_vector_add KERNEL='my kernel.py'",
            "grader check 01_vector_add --device auto --kernel 'my kernel.py'",
        ),
        ("make verify DEVICE=cpu", "grader verify --all --device cpu"),
        ("make verify CHANGED_SINCE=main", "grader verify --changed-since 'main' --device auto"),
        (
            "make verify CHANGED_SINCE=main SAMPLE=3",
            "--changed-since 'main' --sample 3 --device auto",
        ),
        ("make redteam-mutants", "bench/mutants.py --out bench/results/mutants_cpu.json"),
        ("make setup EXTRAS=dev,gpu PYTHON=python3.12", "-e '.[dev,gpu]'"),
        ("make test", "python -m pytest"),
        ("make docs", "--fail-on-warning --keep-going -c docs/site . build/site"),
    ],
)
def test_a_make_target_does_what_is_said(line: str, planned: str):
    plan = run(ROOT, line.replace("make", "make --dry-run --always-make", 1)).stdout
    assert planned in " ".join(plan.replace("\\\n", " ").split())


def commands_known() -> dict[str, Any]:
    """Every command by its words behind `grader`, such as `check` and `leaderboard build`."""
    groups = get_command(app).commands
    return {
        " ".join(filter(None, (name, inner))): command
        for name, group in groups.items()
        for inner, command in getattr(group, "commands", {"": group}).items()
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_grader_command_on_a_page_exists(page: Path):
    known = commands_known()
    text = page.read_text(encoding="utf-8")
    quoted = re.findall(r"`grader ([^`]*)`", text)
    fenced = [c.line.removeprefix("grader ") for c in commands(text) if c.line[:7] == "grader "]
    for words in (line.split() for line in [*quoted, *fenced]):
        if words[0].startswith("-"):
            continue
        named = words[0] if words[0] in known else " ".join(words[:2])
        assert named in known, f"grader {named} is not a command"
        options = {name for param in known[named].params for name in param.opts} | {"--help"}
        unknown = {word for word in words if word.startswith("--")} - options
        assert not unknown, f"grader {named} has no {unknown}"


def test_one_table_names_every_command_and_option():
    table = section(COMMANDS, "Commands")
    for name, command in commands_known().items():
        rows = re.findall(rf"^\| `grader {name}[ `].*$", table, re.MULTILINE)
        assert len(rows) == 1, f"grader {name} has no row of its own"
        for parameter in command.params:
            for option in (o for o in parameter.opts if o.startswith("--")):
                assert f"`{option}" in rows[0], f"grader {name} {option}: no table names it"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_samples_name_the_versions_that_the_course_is_tested_with(page: Path):
    """README once showed the Triton of the machine on which its samples were made."""
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    printed = "\n".join(command.output for command in commands(page.read_text(encoding="utf-8")))
    for library, version in set(re.findall(r"(torch|triton|numba-cuda) (\d[\d.]*)", printed)):
        assert re.search(rf"^{library}=={re.escape(version)}(;.*)?$", pins, re.MULTILINE), library


# -- tables


def test_the_steps_are_listed_with_their_points():
    listed = {row[0]: row[2] for row in rows(section(STEPS, "What a check prints"))}
    assert listed == {name: str(step.points) for name, step in every().items()}


@pytest.mark.parametrize("page", [COMMANDS, ROOT / "docs" / "formats.md"], ids=lambda p: p.name)
def test_every_exit_code_is_listed(page: Path):
    raised = {error.exit_code for error in (errors.UsageError, errors.CannotGrade)}
    listed = [row[0] for row in rows(section(page, "Exit codes")) if row[0].isdigit()]
    assert listed == [str(code) for code in sorted({*EXIT_CODES.values(), *raised})]


RECORDS = {
    name: record
    for top, schema in (
        ("Result", json_schema()),
        ("Examination", doctor.json_schema()),
        ("Review", lint.json_schema()),
        ("Benchmark", Benchmark.model_json_schema(by_alias=True, mode="serialization")),
        ("Trace", trace.json_schema()),
        ("Manifest", manifest.json_schema()),
        ("Solutions", publish.json_schema()),
        ("Attempt", attempts.Attempt.model_json_schema(by_alias=True, mode="serialization")),
        ("ClassRun", class_run.json_schema()),
        ("Signed", attempts.Signed.model_json_schema(by_alias=True, mode="serialization")),
    )
    for name, record in ({top: schema} | schema.get("$defs", {})).items()
}


@pytest.mark.parametrize("record", [name for name, r in RECORDS.items() if "properties" in r])
def test_formats_lists_every_field_of_a_record(record: str):
    listed = [row[0].strip("`") for row in rows(section(ROOT / "docs/formats.md", record))]
    assert listed == list(RECORDS[record]["properties"])


@pytest.mark.parametrize("record", [name for name, r in RECORDS.items() if "enum" in r])
def test_formats_lists_every_word(record: str):
    listed = [row[0].strip("`") for row in rows(section(ROOT / "docs/formats.md", record))]
    assert listed == RECORDS[record]["enum"]


def test_the_acceptance_rule_names_the_sums_of_every_exercise():
    # 13_rmsnorm was missing, between 12 and 14.
    first = [row[0] for row in rows(section(ROOT / "docs/trust.md", "Acceptance"))]
    folders = sorted(path.name for path in (ROOT / "exercises").iterdir() if path.is_dir())
    assert [name for name in first if name[:2].isdigit()] == folders


def test_formats_lists_every_report():
    listed = {row[0].strip("`") for row in rows(section(ROOT / "docs/formats.md", REPORTS))}
    assert {*FORMATS, "canvas"} <= listed


def test_lint_lists_every_rule():
    listed = rows(section(ROOT / "docs/lint.md", "Rules"))
    assert listed == [
        [rule.id, rule.name, rule.level.value, rule.message.format(what="…")] for rule in RULES
    ]


def test_formats_lists_every_message_that_a_worker_knows():
    messages = "Messages between judge and worker"
    listed = [row[0].strip("`") for row in rows(section(ROOT / "docs/formats.md", messages))]
    assert listed == list(Worker(None, None).operations)


def test_formats_lists_every_kind_of_failure():
    raised = set()
    for path in ROOT.glob("grader/**/*.py"):
        source = path.read_text(encoding="utf-8")
        raised |= set(re.findall(r'kind="(\w+)"', source))
        raised |= set(re.findall(r'LoadError\(\s*"(\w+)"', source))
    raised -= {"stable"}  # of NumPy's sorts
    raised |= {fault.kind for fault in Fault.__subclasses__()} - {"malformed"}  # not_simulated
    listed = {row[0].strip("`") for row in rows(section(ROOT / "docs/formats.md", "Kinds"))}
    assert raised <= listed, "docs/formats.md lacks a kind"


def constants() -> Iterator[tuple[str, str, str]]:
    """Page, name and value of every table row that begins with `module.CONSTANT`."""
    for page in PAGES:
        for row in rows(page.read_text(encoding="utf-8")):
            if re.fullmatch(r"`[\w.]+\.[A-Z][A-Z_0-9]*`", row[0]):
                yield page.name, row[0].strip("`"), row[1]


@functools.cache  # a hundred constants are looked for in the files
def sources() -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in ROOT.glob("grader/**/*.py")}


def module_of(name: str) -> str:
    """Return the module that defines `slots.SAMPLED_ROWS`: pages leave its room out."""
    place, _, constant = name.rpartition(".")
    (path,) = (
        path
        for path, source in sources().items()
        if place in path.with_suffix("").parts
        and re.search(rf"^(\w+, )*{constant}\b.* = ", source, re.MULTILINE)
    )
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


@pytest.mark.parametrize(("page", "name", "value"), list(constants()))
def test_a_number_in_the_documentation_is_the_codes(page: str, name: str, value: str):
    actual = getattr(importlib.import_module(module_of(name)), name.rpartition(".")[2])
    assert float(value.replace(",", "").replace("2⁻²⁴", str(2.0**-24))) == actual


def test_how_exact_measuring_is_said_to_be_was_measured():
    """The last table of docs/measuring.md, from the records under bench/results."""
    folder = ROOT / "bench" / "results"
    exact = json.loads((folder / "accuracy_h200.json").read_text())
    everything = json.loads((folder / "accuracy_repeats_h200.json").read_text())
    repeats = everything["repeats"]
    liars = json.loads((folder / "accuracy_liars_h200.json").read_text())
    steps = exact["duration"]
    page = (ROOT / "docs" / "measuring.md").read_text(encoding="utf-8")
    shown = [row[1] for row in rows(page) if len(row) == 2][-5:]
    page = " ".join(page.split())
    gains = [row["gain"] for row in liars["liars"]["rows"] if not row["caught"]]
    assert len(repeats["quiet"]["shares"]) + len(repeats["loaded"]["shares"]) == 30
    assert shown == [
        ", ".join(f"{100 * row['off']:+.2f}" for row in exact["events"]["rows"]) + " %",
        ", ".join(f"{share:.4f}" for share in exact["itself"]["shares"]),
        f"shares within {100 * repeats['spread']:.2f} %, one verdict",
        f"caught, or gain at most {100 * max(gains):.2f} %",
        f"{steps['median_s']:.1f} s, the slowest {steps['slowest_s']:.1f} s",
    ]
    assert liars["liars"]["ok"]
    assert all(exact[part]["ok"] for part in ("events", "itself"))
    assert all(record["duration"]["ok"] for record in (exact, liars, everything))
    contradicted = [row["raised"] for row in exact["events"]["rows"] if row["raised"] > 1]
    assert {row["outcome"] for row in exact["events"]["rows"]} == {"pass"}
    raised = [*repeats["quiet"]["raised"], *repeats["loaded"]["raised"]]
    assert (
        f"raised the times of {len(contradicted)} of the 6 solutions, by "
        f"{100 * (max(contradicted) - 1):.2f} % at most, and of "
        f"{len(raised) - raised.count(1.0)} of the {len(raised)} runs" in page
    )
    trust = clock.MAX_UNDERCLAIM
    unclear = [row for row in liars["liars"]["rows"] if row["caught"] in ("noisy", "too_close")]
    assert f"{len(unclear)} of the liars were too close to the gate to tell" in page
    assert {row["caught"] for row in unclear} == {"too_close"}
    assert {*repeats["quiet"]["outcomes"], *repeats["loaded"]["outcomes"]} == {"pass"}
    assert f"max(median E, {1 - trust:g} · (quiet W - h))" in page
    details = (ROOT / "docs" / "measuring-details.md").read_text(encoding="utf-8")
    assert f"`clock.MAX_UNDERCLAIM` = {100 * trust:g} %" in details


def test_what_was_measured_again_is_said_as_it_was():
    folder = ROOT / "bench" / "results"
    again = json.loads((folder / "accuracy_again_h200.json").read_text())
    alone = again["alone"]["runs"]
    gains = [row["gain"] for row in again["liars"]["rows"] if not row["caught"]]
    page = " ".join((ROOT / "docs" / "measuring.md").read_text(encoding="utf-8").split())
    first = ", ".join(f"{100 * row['off']:+.2f}" for row in again["events"]["rows"])
    assert f"The six solutions were {first} % off plain CUDA events" in page
    assert f"no liar gained more than {100 * max(gains):.2f} %" in page
    more = ", ".join(f"{100 * run['off']:+.2f}" for run in alone)
    assert f"three more runs of 02 were {more} % off" in page
    assert f"by {100 * (max(run['raised'] for run in alone) - 1):.2f} % at most" in page


def test_what_was_measured_later_on_h200s_is_said_as_it_was():
    record = json.loads((ROOT / "bench" / "results" / "accuracy_later_h200.json").read_text())
    page = " ".join((ROOT / "docs" / "measuring.md").read_text(encoding="utf-8").split())
    said = page.partition("Later, on H200s (`accuracy_later_h200.json`), ")[2]
    parts = ("events", "sizes", "bounds")
    off = {part: [100 * row["off"] for row in record[part]["rows"]] for part in parts}
    assert said.startswith(
        f"all {len(off['events'])} solutions under bandwidth were {min(off['events']):+.2f} to "
        f"{max(off['events']):+.2f} % off plain events"
    )
    one_size, another, _ = off["sizes"]
    assert f"several scored sizes were {one_size:+.2f} and {another:+.2f} % off" in said
    polynomial, compiled, product, latency = off["bounds"]
    assert f"peak were {polynomial:+.2f} and {product:+.2f} % off" in said
    assert f"that of the compiled function {compiled:+.2f} %" in said
    assert f"and that of a latency {latency:+.1f} %." in said
    [unpack] = (100 * row["off"] for row in record["events_sized_apart"])
    compiled, latency = (100 * row["off"] for row in record["sized_apart"])
    assert f"`20_quantize_int8:unpack` was {unpack:+.2f} % off, the compiled function " in said
    assert f"the compiled function {compiled:+.2f} % and the latency {latency:+.1f} %." in said
    compiled, latency = (100 * row["off"] for row in record["apart"])
    assert f"these two were {compiled:+.2f} and {latency:+.1f} % off" in said
    took = [row["duration_s"] for part in ("events", "bounds") for row in record[part]["rows"]]
    met = sum(seconds <= record["targets"]["duration"] for seconds in took)
    assert f"8 s, was met by {met} of the {len(took)}. The slowest took {max(took):.1f} s" in said


def test_the_shares_of_the_fused_cross_entropy_are_said_as_they_were_measured():
    record = json.loads((ROOT / "bench" / "results" / "accuracy_07_h200.json").read_text())
    page = " ".join((ROOT / "docs" / "measuring.md").read_text(encoding="utf-8").split())
    *alone, beside = record["rows"]
    shares = sorted(100 * row["share"] for row in alone)
    half = 50 * (beside["share_high"] - beside["share_low"])
    assert f"{len(alone)} runs had {shares[0]:.1f} to {shares[-1]:.1f} %" in page
    assert f"one had {100 * beside['share']:.1f} ± {half:.1f} % and was `noisy`" in page
    assert [row["outcome"] for row in alone] == ["pass"] * len(alone)


def test_the_page_has_the_shares_of_the_reference_kernel_against_itself():
    record = json.loads((ROOT / "bench" / "results" / "accuracy_itself_h200.json").read_text())
    *first, last = (f"{share:.4f}" for share in record["itself"]["shares"])
    page = (ROOT / "docs" / "measuring-details.md").read_text(encoding="utf-8")
    assert f"it has shares of {', '.join(first)} and {last} on an H200" in " ".join(page.split())


def test_what_was_measured_on_an_h100_is_said_as_it_was():
    record = json.loads((ROOT / "bench" / "results" / "accuracy_h100.json").read_text())
    page = " ".join((ROOT / "docs" / "measuring.md").read_text(encoding="utf-8").split())
    rows = record["events"]["rows"]
    off = ", ".join(f"{100 * row['off']:+.2f}" for row in rows)
    assert f"They were {off} % off plain CUDA events" in page
    itself = ", ".join(f"{share:.4f}" for share in record["itself"]["shares"])
    assert f"reached {itself} of itself" in page
    liars = record["liars"]["rows"]
    gains = [row["gain"] for row in liars if not row["caught"]]
    assert f"no liar gained more than {100 * max(gains):.2f} %; one was `noisy`" in page
    assert [row["caught"] for row in liars].count("noisy") == 1
    slowest = max(rows, key=lambda row: row["duration_s"])
    assert slowest["exercise"] == "13_rmsnorm:rms_norm_backward"
    steps = record["duration"]
    assert steps["slowest_s"] == slowest["duration_s"]
    assert f"took {steps['median_s']:.1f} s. The slowest took {steps['slowest_s']:.1f} s" in page


def test_what_liars_gain_under_other_bounds_is_said_as_it_was_measured():
    record = json.loads((ROOT / "bench" / "results" / "accuracy_bound_liars_h100.json").read_text())
    page = " ".join((ROOT / "docs" / "measuring.md").read_text(encoding="utf-8").split())
    rows = {(row["exercise"], row["kernel"]): row for row in record["bound_liars"]["rows"]}

    def gains(exercise: str) -> dict[str, float]:
        own = {kernel: row for (name, kernel), row in rows.items() if name == exercise}
        return {kernel: row["gain"] for kernel, row in own.items() if not row["caught"]}

    most = max(gains("02_rms").values())
    assert f"no liar gained more than {100 * most:.2f} %, and one was caught" in page
    product = gains("03_product")
    above = ("lies_a_little", "lies_about_time", "only_the_calls")
    first, second, third = (f"{100 * product[liar]:+.2f}" for liar in above)
    assert f"three gained {first}, {second} and {third} %" in page
    assert max(gain for liar, gain in product.items() if liar not in above) < 0.01
    corrected = rows["03_product", "only_the_calls"]["raised"]
    assert f"claims {corrected:.0f} times less than the judge's clock shows" in page
    latency = gains("04_one_row")
    together = latency.pop("one_launch_for_all")
    assert len(latency) == 5
    least, most = (f"{100 * gain:+.0f}" for gain in (min(latency.values()), max(latency.values())))
    assert f"The figures of five lie between {least} % and {most} % of" in page
    assert f"`one_launch_for_all` gained a factor of {1 + together:.1f}" in page
    assert record["bound_liars"]["left"] == []
    assert f"took {record['duration']['slowest_s']:.1f} s." in page


def test_what_the_same_liars_gain_on_an_h200_is_said_too():
    record = json.loads((ROOT / "bench" / "results" / "accuracy_bound_liars_h200.json").read_text())
    page = " ".join((ROOT / "docs" / "measuring.md").read_text(encoding="utf-8").split())
    said = page.partition("On H200s the same liars ran again")[2]
    said = said.partition("Under the bound `latency`, six")[0]
    runs = [record[run]["rows"] for run in ("bound_liars", "again", "third")]
    of_compiled = [
        {row["kernel"]: 100 * row["gain"] for row in rows if row["exercise"] == "02_rms"}
        for rows in runs[:2]
    ]
    for liar in ("lies_a_little", "queues_work", "loads_the_host"):
        twice = " and ".join(f"[+]{gains[liar]:.2f}" for gains in of_compiled)
        assert re.search(rf"`{liar}`(?: gained)? {twice} %", said)
    named = {"lies_a_little", "queues_work", "loads_the_host"}
    every = [(name, gain) for gains in of_compiled for name, gain in gains.items()]
    assert sum(gain > 2 for _, gain in every) == 1
    assert f"one of these {len(every)} gains is above the 2 %" in said
    others = max(gain for name, gain in every if name not in named)
    assert f"No other liar gained more than {others:.2f} %" in said
    products = [
        {row["kernel"]: row for row in rows if row["exercise"] == "03_product"} for rows in runs
    ]
    noisy = [{name for name, row in one.items() if row["caught"]} for one in products]
    caught = {"burns_power", "queues_work"}
    assert noisy == [caught | {"only_the_calls"}, {"burns_power"}, caught]
    assert record["again"]["left"] == ["03_product: queues_work", "03_product: rests_longer"]
    gained = [
        {name: 100 * row["gain"] for name, row in one.items() if not row["caught"]}
        for one in products
    ]
    for liar in ("lies_a_little", "lies_about_time"):
        first, second, third = (f"[+]{gains.pop(liar):.2f}" for gains in gained)
        assert re.search(rf"`{liar}`(?: gained)? {first}, {second} and {third} %", said)
    later = " and ".join(f"+{gains.pop('only_the_calls'):.2f}" for gains in gained[1:])
    assert f"`only_the_calls` {later} % after a first run" in said
    above = [row["gain"] > 0.02 for rows in products for row in rows.values() if not row["caught"]]
    assert (above.count(True), "Five of these eight gains are above the 2 %" in said) == (5, True)
    others = [gain for gains in gained for gain in gains.values()]
    assert f"Three others gained at most {max(others):.2f} %" in said
    assert len({name for gains in gained for name in gains}) == 3


def test_a_latency_on_a_gpu_is_as_the_pages_say():
    record = json.loads((ROOT / "bench/results/accuracy_latency_h100.json").read_text())
    bounds, page = (
        " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())
        for name in ("bounds.md", "measuring.md")
    )
    rows = record["bound_repeats"]["rows"]
    assert {row["outcome"] for row in rows} == {"pass"}
    assert f"{len(rows)} fresh runs of the right kernel" in page
    shares = [row["share"] for row in rows]
    middle = statistics.median(shares)
    less, more = 100 * (1 - min(shares) / middle), 100 * (max(shares) / middle - 1)
    assert f"{less:.1f} % less and {more:.1f} % more than their median of {middle:.3f}" in page
    assert f"{less:.1f} % less and {more:.1f} % more than their median" in bounds
    [events] = record["bounds"]["rows"]
    assert f"the share was {events['events_share']:.3f}:" in page
    steps = record["duration"]
    took = f"took {steps['median_s']:.1f} s, and the slowest {steps['slowest_s']:.1f} s"
    assert took in page
    later = json.loads((ROOT / "bench/results/accuracy_latency_cycles_h100.json").read_text())
    shares = [row["share"] for row in later["bound_repeats"]["rows"]]
    middle = statistics.median(shares)
    less, more = 100 * (1 - min(shares) / middle), 100 * (max(shares) / middle - 1)
    assert f"between {less:.1f} % less and {more:.1f} % more than their median, none" in page
    assert f"steps took {later['duration']['median_s']:.1f} s in the median." in page
    gains = {row["kernel"]: 100 * row["gain"] for row in record["bound_liars"]["rows"]}
    assert f"`lies_a_little` gained {gains['lies_a_little']:+.2f} % and" in page
    assert f"claims half, {gains['lies_about_time']:+.2f} %" in page
    assert f"gained {gains['lies_about_time']:.0f} %" in bounds
    nothing = " and ".join(
        f"{gains[name]:+.2f}" for name in ("leaves_denormals", "leaves_its_core")
    )
    assert f"gained nothing: {nothing} %" in page


def test_thirty_latencies_and_all_their_liars_are_as_the_pages_say():
    record = json.loads((ROOT / "bench/results/accuracy_latency_h200.json").read_text())
    others = json.loads((ROOT / "bench/results/accuracy_bound_repeats_h200.json").read_text())
    bounds, page, trust = (
        " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())
        for name in ("bounds.md", "measuring.md", "trust.md")
    )
    rows = record["bound_repeats"]["rows"]
    assert {row["outcome"] for row in rows} == {"pass"}
    assert (len(rows), record["bound_repeats"]["left"]) == (30, [])
    shares = [row["share"] for row in rows]
    middle = statistics.median(shares)
    less, more = 100 * (1 - min(shares) / middle), 100 * (max(shares) / middle - 1)
    lay = f"between {less:.1f} % less and {more:.1f} % more"
    assert f"{lay} than their median of {middle:.3f}" in page
    assert f"thirty lay {lay}" in bounds
    took = record["bound_repeats"]["durations_s"]
    assert f"took {statistics.median(took):.1f} s, and the slowest {max(took):.1f} s. So no" in page
    of = {
        name: [row["share"] for row in others["bound_repeats"]["rows"] if row["exercise"] == name]
        for name in ("01_polynomial", "02_rms", "03_product")
    }
    assert {len(shares) for shares in of.values()} == {30}
    polynomial, compiled, product = of.values()
    apart = [polynomial, compiled, product[:13], product[13:], product]
    within = [f"within {100 * (max(s) - min(s)) / statistics.median(s):.2f} %" for s in apart]
    said = page.partition("had thirty fresh runs each")[2]
    assert re.findall(r"within [\d.]+ %", said)[:5] == within
    higher = statistics.median(product[13:]) / statistics.median(product[:13]) - 1
    assert f"second host's share is {100 * higher:.1f} % higher" in said

    liars = {row["kernel"]: row for row in record["bound_liars"]["rows"]}
    noisy = sorted(name for name, row in liars.items() if row["caught"])
    said = page.partition("All seven ran on an H200")[2]
    assert "`{}`, `{}` and `{}` were `noisy`".format(*noisy) in said
    for name in ("lies_a_little", "leaves_denormals", "leaves_its_core"):
        assert re.search(rf"`{name}`( gained)? \{100 * liars[name]['gain']:+.2f} %", said)
    assert f"are up to {100 * (max(shares) / min(shares) - 1):.1f} % apart" in said
    together = f"gained a factor of {1 + liars['one_launch_for_all']['gain']:.1f}"
    assert together in said
    assert together in trust.partition("all seven of a latency have run again")[2]


def test_other_bounds_and_bandwidths_on_an_h200_are_as_the_page_says():
    page = " ".join((ROOT / "docs/measuring.md").read_text(encoding="utf-8").split())
    bounds, events = (
        json.loads((ROOT / f"bench/results/accuracy_{part}_h200.json").read_text())[part]["rows"]
        for part in ("bounds", "events")
    )
    *off, latency = (100 * row["off"] for row in bounds)
    three = "{:+.2f}, {:+.2f} and {:+.2f} % off plain events".format(*off)
    assert f"{three}, and that of a latency {latency:+.1f} %" in page
    *most, last = sorted(events, key=lambda row: abs(row["off"]))
    least, highest = (100 * each(row["off"] for row in most) for each in (min, max))
    said = f"{len(most)} of {len(events)} solutions under bandwidth were {least:.2f} to"
    number = last["exercise"].partition("_")[0]
    of_last = f"and {number} was {100 * last['off']:.2f} % off"
    assert f"{said} {highest:+.2f} % off plain events, {of_last}" in page


def test_a_latency_is_as_exact_as_the_pages_say():
    """docs/bounds.md and docs/measuring.md, from the record under bench/results."""
    record = json.loads((ROOT / "bench/results/latency_cores_h100.json").read_text())
    bounds, page = (
        " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())
        for name in ("bounds.md", "measuring.md")
    )
    batches = record["batches"]
    workers = {(row["pair"], row["worker"]) for row in batches}
    assert f"{len(batches)} batches of {len(workers)} workers" in page

    def calls(pair: int, worker: str) -> list[float]:
        own = (row for row in batches if (row["pair"], row["worker"]) == (pair, worker))
        return [row["call_us"] for row in own]

    for placed, told in (("apart", "between {:.2f} and {:.2f}"), ("one core", "{:.2f} and {:.2f}")):
        pairs = {row["pair"] for row in batches if row["placed"] == placed}
        shares = [
            statistics.median(
                reference / kernel
                for kernel, reference in zip(
                    calls(pair, "kernel"), calls(pair, "reference"), strict=True
                )
            )
            for pair in pairs
        ]
        assert told.format(min(shares), max(shares)) in page
    found = {row["kernel"]: row for row in record["replayed"]}
    honest = found["honest"]["shares"]
    less, more = 100 * (1 - honest["0.025"]), 100 * (honest["0.975"] - 1)
    for text in (bounds, page):
        assert f"between {less:.1f} % less and {more:.0f} % more than the true one" in text
    assert max(less, more) <= 100 * find_bound("latency").rerun
    noisy = found["honest"]["noisy"] / found["honest"]["runs"]
    assert f"{100 * noisy:.0f} % of the measurements are `noisy`" in page
    little = found["claims 2 % less"]["shares"]
    least, most = (100 * abs(little[q] - 1) for q in ("0.025", "0.975"))
    assert f"between {least:.1f} % less and {most:.1f} % more; with 10 %" in page
    tenth = found["claims 10 % less"]["shares"]
    least, most = (100 * (tenth[q] - 1) for q in ("0.025", "0.975"))
    assert f"with 10 % less claimed, between {least:.1f} % and {most:.1f} % more." in page
    for kernel in ("claims half", "claims nothing"):
        assert found[kernel]["noisy"] == found[kernel]["runs"]


def test_what_slowing_the_reference_of_a_latency_gains_was_replayed():
    """docs/measuring.md and docs/trust.md, from the record under bench/results."""
    record = json.loads((ROOT / "bench/results/latency_quantiles.json").read_text())
    page, trust = (
        " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())
        for name in ("measuring.md", "trust.md")
    )
    rows = {(row["world"], row["rule"], row["kernel"]): row for row in record["rows"]}
    rules = list(dict.fromkeys(rule for _, rule, _ in rows))
    used, mixed = rules[-1], "mixed"

    def noisy(row: dict[str, Any]) -> str:
        return f"{100 * row['noisy'] / row['runs']:.0f} %"

    def cell(row: dict[str, Any]) -> str:
        middle = row["shares"].get("0.5")
        return "all `noisy`" if middle is None else f"{middle:.3f}, {noisy(row)} `noisy`"

    for rule in rules:
        honest = rows[mixed, rule, "honest"]
        least, most = honest["shares"]["0.025"], honest["shares"]["0.975"]
        slowed = (f"slows {part} by 50 %" for part in ("all but one", "half"))
        cells = [cell(rows[mixed, rule, kernel]) for kernel in slowed]
        told = [rule, noisy(honest), f"{least:.3f} to {most:.3f}", *cells]
        assert f"| {' | '.join(told)} |" in page
    waits = [rows[mixed, rule, "honest, waits for the GPU"]["shares"] for rule in ("best", used)]
    (low, high), (least, most) = ((one["0.025"], one["0.975"]) for one in waits)
    assert f"lay between {low:.2f} and {high:.2f} by the first rule" in page
    assert f"lie between {least:.2f} and {most:.2f} by the last one" in page
    seldom = "one core at a time"
    longest = rows[seldom, used, "honest, waits for the GPU"]["shares"]["0.975"]
    assert f"up to {longest:.2f} where the core stays busy for long" in page
    right = {noisy(rows[seldom, rule, "honest"]) for rule in ("best", used)}
    assert right == {"28 %"}
    assert "for long, 28 % of a right kernel's measurements are `noisy` by it" in page
    one, every = (
        100 * (rows[seldom, used, f"slows {part} by 10 %"]["shares"]["0.5"] - 1)
        for part in ("all but one", "all")
    )
    assert f"gains {one:.0f} % by slowing all but one by 10 %, and {every:.0f} % by" in trust
    for part in ("half", "all but one"):
        for by in (10, 50):
            shares = rows[mixed, used, f"slows {part} by {by} %"]["shares"]
            assert not shares or round(shares["0.5"], 2) <= 1.01
    little, much, lie = (
        rows[mixed, used, f"slows {what}"]
        for what in ("all by 10 %", "all by 50 %", "all but one by 50 %, one claim less")
    )
    gain = 100 * (little["shares"]["0.5"] - 1)
    assert f"{noisy(little)} of the measurements are `noisy`, and it gains {gain:.0f} %" in trust
    assert much["noisy"] == much["runs"]
    for part, words in (
        (
            "all",
            "{kept:.0f} % of the measurements are not `noisy`, and the file gains {gain:.0f} %",
        ),
        ("all but one", "with all but one, {kept:.0f} %, and it gains {gain:.0f} %"),
    ):
        row = rows[seldom, used, f"slows {part} by 50 %"]
        gain = 100 * (row["shares"]["0.5"] - 1)
        kept = 100 * (1 - row["noisy"] / row["runs"])
        assert words.format(kept=kept, gain=gain) in trust
    gain = 100 * (lie["shares"]["0.5"] - 1)
    told = f"{noisy(lie)} of the measurements are `noisy`, and in the others it gains {gain:.0f} %"
    assert told in trust


def test_single_claims_of_a_latency_are_held_to_what_pairs_of_batches_showed():
    """clock.MAX_UNDERCLAIM_ONCE, from the record under bench/results."""
    record = json.loads((ROOT / "bench/results/latency_cores_h100.json").read_text())
    short = {
        (row["pair"], row["cycle"], row["worker"]): row
        for row in record["batches"]
        if (row["placed"], row["mode"]) == ("one core", "short")
    }

    def claimed_ms(row: dict[str, Any]) -> float:
        return CALLS * row["call_us"] * 1e-3

    above = []
    for (pair, cycle, worker), row in short.items():
        if worker == "kernel":
            beside = short[pair, cycle, "reference"]
            overhead_ms = beside["window_ms"] - claimed_ms(beside)
            above.append((row["window_ms"] - overhead_ms) / claimed_ms(row) - 1)
    *_, next_most, most = sorted(above)
    page = " ".join((ROOT / "docs/measuring-details.md").read_text(encoding="utf-8").split())
    assert (
        f"in {len(above)} pairs of short batches on one core W − o was {100 * most:.0f} %" in page
    )
    assert f"once, and {100 * next_most:.0f} % at most otherwise" in page
    assert f"`clock.MAX_UNDERCLAIM_ONCE` is {clock.MAX_UNDERCLAIM_ONCE:g}:" in page
    assert (1 - clock.MAX_UNDERCLAIM_ONCE) * (1 + most) == pytest.approx(1, abs=0.01)


def test_runs_lie_as_near_to_each_other_as_intervals_say():
    """statistics.RERUN, from the record under bench/results."""
    record = json.loads((ROOT / "bench/results/accuracy_repeats_h200.json").read_text())["repeats"]
    shares = [*record["quiet"]["shares"], *record["loaded"]["shares"]]
    middle = statistics.median(shares)
    near = sum(abs(share / middle - 1) <= RERUN for share in shares)
    assert near >= 0.95 * len(shares)
    details = (ROOT / "docs" / "measuring-details.md").read_text(encoding="utf-8")
    assert f"`statistics.RERUN` = {100 * RERUN:g} %" in details


def test_what_red_team_and_honest_corpus_came_to_was_measured():
    """The sums in docs/trust.md, from the records under bench/results."""
    folder = ROOT / "bench" / "results"
    cheats = json.loads((folder / "redteam_cpu.json").read_text())
    ends, only_gpu = cheats["counts"], len(cheats["left_out"])
    text = " ".join(section(ROOT / "docs" / "trust.md", "The red team").split())
    assert set(ends) == {"stopped", "not defended"}
    assert f"{len(cheats['cheats'])} files on the CPU, of which {ends['stopped']} were" in text
    assert f"and {ends['not defended']} are those that the table lists" in text
    there = json.loads((folder / "redteam_h200.json").read_text())
    ends = there["counts"]
    gains = [one["gain"] for one in there["cheats"] if one["status"] == "harmless"]
    assert set(ends) == {"stopped", "harmless", "undecided"}
    judged = {one["name"] for one in there["cheats"]} & set(cheats["left_out"])
    assert f"Of the {only_gpu} that only a GPU can show, {len(judged)} were judged on" in text
    assert f"{ends['stopped']} were stopped where they say, {ends['harmless']} around" in text
    assert f"gained at most {100 * (max(gains) - 1):.2f} %" in text
    assert f"and {ends['undecided']} got no points" in text
    lies = json.loads((folder / "accuracy_liars_h200.json").read_text())["liars"]["rows"]
    largest = max(row["gain"] for row in lies if not row["caught"])
    assert f"one that was not caught was {100 * largest:.2f} %" in text
    assert (
        f"All these gains are the {100 * clock.MAX_UNDERCLAIM:g} % less than the judge's clock"
        in text
    )
    gpu_only = json.loads((folder / "redteam_cuda_h100.json").read_text())
    assert len(gpu_only["cheats"]) == 8
    ends = [one["status"] for one in gpu_only["cheats"]]
    assert (ends.count("stopped"), ends.count("undecided")) == (7, 1)
    (gain,) = (one["gain"] for one in gpu_only["cheats"] if one["status"] == "undecided")
    assert f"was {100 * (gain - 1):.1f} % faster than the solution" in text
    honest = json.loads((folder / "honest_cpu.json").read_text())
    text = " ".join(section(ROOT / "docs" / "trust.md", "The honest corpus").split())
    assert f"{honest['runs']:,} runs of {len(honest['kernels'])} kernels" in text
    assert f"{honest['rejected'] or 'none'} of them was rejected" in text
    cuda = json.loads((folder / "honest_cuda_h100.json").read_text())
    in_cuda = [one for one in cuda["kernels"] if one["runs"]]
    (slow,) = (one["kernel"] for one in in_cuda if one["too_slow"])
    assert (cuda["rejected"], slow) == (0, "cuda/01_vector_add/clusters")
    assert f"{len(in_cuda)} of {len(cuda['kernels'])} were judged on an H100" in text
    there = json.loads((folder / "honest_h200.json").read_text())
    corpus = {
        f"{path.parent.name}/{path.stem}"
        for path in (ROOT / "tests" / "redteam" / "honest").glob("*/*.py")
    }
    judged = {one["kernel"] for one in there["kernels"]}
    # A number that each new exercise leaves true.
    least = re.search(r"holds more than (\d+) correct kernels", text)
    assert least is not None
    assert len(corpus) > int(least[1])
    assert f"{len(judged)} of them were judged on H200s" in text
    assert judged < corpus  # "The speed of those that are newer is not measured yet."
    assert not there["rejected"]
    assert sum(bool(one["too_slow"]) for one in there["kernels"]) == 10
    assert sum(bool(one["undecided"]) for one in there["kernels"]) == 2
    assert "and two had a speed that was `noisy`" in text


def test_the_table_of_figures_is_what_the_records_hold():
    folder = ROOT / "bench" / "results"

    def record(name: str):
        return json.loads((folder / f"{name}.json").read_text())

    cheats, there = record("redteam_cpu"), record("redteam_h200")
    honest, honest_there = record("honest_cpu"), record("honest_h200")
    cost, cost_there = (record(name) for name in ("hardened_cost_cpu", "hardened_cost_h200"))
    judged = sum(row["rejected"] for row in judged_mutants())
    shown = {row[0]: row[2] for row in rows(section(ROOT / "docs" / "trust.md", "In figures"))}
    assert cheats["ok"]
    assert there["ok"]
    assert [*shown.values()][:3] == [
        f"0 of {len(cheats['cheats'])} on a CPU, 0 of {len(there['cheats'])} on H200s",
        f"{honest['rejected']} of {len(honest['kernels'])} in {honest['runs']:,} runs on CPUs, "
        f"{honest_there['rejected']} of {len(honest_there['kernels'])} on H200s",
        f"0 of {judged:,}",
    ]
    seconds, seconds_there = (
        one["compared"]["hardened"]["seconds_more_than_plain"] for one in (cost, cost_there)
    )
    bandwidth = cost_there["compared"]["hardened"]["bandwidth_against_plain"]
    assert [*shown.values()][4:] == [
        f"{seconds:.1f} on a CPU, {seconds_there:.1f} on an H200",
        f"{100 * bandwidth:.2f} %",
    ]
    # Which the text explains: without any walls it was more.
    seconds_open = cost_there["compared"]["open"]["seconds_more_than_plain"]
    text = " ".join(section(ROOT / "docs" / "trust.md", "In figures").split())
    assert f"without any walls took {-seconds_open:.1f} s less than a plain one" in text
    assert f"and a hardened one {-seconds_there:.1f} s less" in text


def test_what_ci_adds_was_measured():
    """docs/formats.md, from the record under bench/results."""
    record = json.loads((ROOT / "bench" / "results" / "ci_overhead_cpu.json").read_text())
    text = " ".join(section(ROOT / "docs" / "formats.md", REPORTS).split())
    assert "measured to be less than a second" in text
    assert all((run["exit_code"], run["judges"]) == (0, 1) for run in record["runs"])
    assert max(record["added_s"], record["added_outside_s"], record["added_own_cpu_s"]) < 1


def test_how_long_verifying_takes_was_measured():
    """docs/commands.md and `grader verify --help`, from the record under bench/results."""
    record = json.loads((ROOT / "bench" / "results" / "verify_h200.json").read_text())
    seconds, exercises = record["wall_s"]["verify"], len(record["solutions"])
    text = " ".join(section(COMMANDS, "grader verify").split())
    assert exercises == 6
    assert f"exercises 01 to 06 took {seconds:.0f} s on one NVIDIA H200" in text
    assert seconds / exercises <= 120
    assert "up to two minutes for each" in commands_known()["verify"].help


def judged_mutants() -> list[dict[str, Any]]:
    """Return the row of each exercise, by name: a record may hold what another one has left."""
    names = ("mutants_xeon", "mutants_cpu")
    records = [json.loads((ROOT / "bench/results" / f"{name}.json").read_text()) for name in names]
    assert not any(record["not_ok"] for record in records)
    found = {row["exercise"]: row for record in records for row in record["exercises"]}
    assert not {left for record in records for left in record["left"]} - found.keys()
    return [found[name] for name in sorted(found)]


def test_the_kill_rates_of_mutants_were_measured():
    """The table of docs/trust.md, from the records under bench/results."""
    found = judged_mutants()
    words = ("exercise", "mutants", "equivalent", "slower", "out_of_reach", "rejected", "survived")
    text = section(ROOT / "docs" / "trust.md", "Who tests the tests")
    shown = [row for row in rows(text) if len(row) == len(words)]
    assert shown == [[str(row[word]) for word in words] for row in found]
    most, rejected = (sum(row[word] for row in found) for word in words[1::4])
    assert f"of {most:,} mutants {most - rejected} are declared" in " ".join(text.split())
    assert f"the other {rejected:,} were rejected" in " ".join(text.split())


def test_simulated_verdicts_were_compared_with_a_gpus():
    record = json.loads((ROOT / "bench" / "results" / "same_verdicts_h200.json").read_text())
    text = " ".join(section(ROOT / "docs" / "trust.md", "Who tests the tests").split())
    same, luck = record["sums"]["same"], record["sums"]["by luck"]
    assert f"{same} of {same + luck} kernels got the same verdict" in text
    assert f"The other {luck} pass on the GPU by luck" in text
    assert len(record["kernels"]) == same + luck


# -- prose


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path):
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_sample_result_of_formats_is_a_result():
    from grader.model.results import parse_result

    text = (ROOT / "docs/formats.md").read_text(encoding="utf-8")
    (sample,) = [body for language, body in BLOCK.findall(text) if language == "json"]
    parse_result(sample)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_constant_that_a_page_names_exists(page: Path):
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"`([a-z_]+\.(?!NAME)[A-Z][A-Z_0-9]+)`", text):
        assert module_of(name), name


def test_what_an_installation_takes_is_what_was_measured():
    """The size in docs/learning.md, from the record under bench/results."""
    record = json.loads((ROOT / "bench/results/install.json").read_text())
    (way, *_) = record["ways"]
    assert "+cpu" in way["torch"]
    page = (ROOT / "docs" / "learning.md").read_text(encoding="utf-8")
    assert f"take {way['mib'] / 1024:.1f} GiB on disk" in page
    assert f"a download of {record['download']['mb'] / 1000:.1f} GB" in page

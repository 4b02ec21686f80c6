"""bench/fast.py without a GPU; the texts of the fast solutions say what was measured."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
RECORD = json.loads((ROOT / "bench" / "results" / "fast_tries_h200.json").read_text())
SOLUTION = ROOT / "solutions" / "04_online_softmax"
FAST = (SOLUTION / "fast.py").read_text(encoding="utf-8")
FAST_TEXT = (SOLUTION / "fast.md").read_text(encoding="utf-8")
CROSS_ENTROPY = ROOT / "solutions" / "06_cross_entropy"
CROSS_ENTROPY_TEXT = (CROSS_ENTROPY / "fast.md").read_text(encoding="utf-8")
VARIANTS = (ROOT / "bench" / "fast_variants.py").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+) \| (.*?) \| ([\d. |]+) \|$", re.MULTILINE)
HEADING = re.compile(r"([\d,]+) (float32|bfloat16)")


@pytest.mark.parametrize("exercise", ["04_online_softmax", "06_cross_entropy"])
def test_what_each_change_bought_is_what_was_measured(exercise: str):
    text = (ROOT / "solutions" / exercise / "fast.md").read_text(encoding="utf-8")
    heading = next(line for line in text.splitlines() if line.startswith("| try |"))
    columns = _sizes_in(heading)
    measured = {
        (row["try"], row["what"], row["columns"], row["dtype"]): f"{row['share']:.3f}"
        for row in RECORD["rows"]
        if row["exercise"] == exercise
    }
    shown = {
        (int(number), what, *column): share
        for number, what, shares in ROW.findall(text)
        for column, share in zip(columns, shares.split(" | "), strict=True)
    }
    assert shown == {key: share for key, share in measured.items() if key[2:] in columns}
    assert len(shown) == 9 * len(columns)


def test_what_the_tenth_try_reaches_is_what_was_measured():
    [row] = [one for one in _record("fast_tries_h100")["rows"] if one["exercise"][:2] == "06"]
    assert f"reaches {row['share']:.3f} at {row['columns']:,} {row['dtype']}" in CROSS_ENTROPY_TEXT


@pytest.mark.parametrize("gpu", ["h100", "h200"])
@pytest.mark.parametrize("exercise", ["04_online_softmax", "06_cross_entropy"])
def test_the_table_of_contenders_is_what_was_measured(exercise: str, gpu: str):
    text = (ROOT / "solutions" / exercise / "fast.md").read_text(encoding="utf-8")
    record = _record(f"fast_{exercise[:2]}_{gpu}")
    contenders = list(record["geometric_means"])
    below = text.partition(f"(`bench/results/fast_{exercise[:2]}_{gpu}.json`")[2]
    lines = below.partition("\n| columns | solution |")[2].partition("\n\n")[0].splitlines()
    shown = ["solution", *lines[0].strip("| ").split(" | ")]
    assert sorted(shown) == sorted(contenders)
    sizes = {(row["columns"], row["dtype"]) for row in record["rows"]}
    share = {(row["contender"], row["columns"], row["dtype"]): row for row in record["rows"]}
    for columns, dtype in sizes:
        shares = [share[one, columns, dtype]["share"] for one in shown]
        assert _row(f"{columns:,} {dtype}", shares) in lines
    means = [record["geometric_means"][one] for one in shown]
    assert (_row("geometric mean", means) in lines) == (len(sizes) > 2)


def test_the_table_beside_quack_is_what_was_measured():
    runs = [_record("beside_quack_h200"), _record("beside_quack_again_h200")]
    sizes = [[(row["columns"], row["dtype"]) for row in run["rows"]] for run in runs]
    assert sizes[0] == sizes[1]
    assert not any(row["wrong"] for run in runs for row in run["rows"])
    rows = [
        _row(f"{one['columns']:,} {one['dtype']}", [*_fast_and_quack(one), *_fast_and_quack(two)])
        for one, two in zip(runs[0]["rows"], runs[1]["rows"], strict=True)
    ]
    means = [share for run in runs for share in run["geometric_means"].values()]
    shown = _rows_below("| columns | solution, fast | quack |")
    assert shown == [*rows, _row("geometric mean", means)]


def test_what_each_thing_undone_costs_is_what_was_measured():
    record = _record("fast_variants_h200")
    names = ["as it is", *_variants_in(FAST_TEXT)]
    rows = [
        _row(f"{row['columns']:,} {row['dtype']}", [row["shares"][name] for name in names])
        for row in record["undone"]
    ]
    means = [record["geometric_means"][name] for name in names]
    assert sorted(names) == sorted(record["geometric_means"])
    assert not any(row["wrong"] for row in record["undone"] + record["shapes"])
    assert _rows_below("| columns | as it is |") == [*rows, _row("geometric mean", means)]


def test_the_counters_in_the_text_are_those_read():
    rows = _record("fast_counters_h200")["rows"]
    sectors = {
        name: {f"{row['l2_sectors_read'] / 1e6:.1f}" for row in rows if row["variant"] == name}
        for name in ("as it is", "memory begins at a multiple of 16")
    }
    text = " ".join(FAST_TEXT.split())
    [few], [many] = sectors.values()
    assert f"{many} million sectors read instead of {few} million" in text
    last = {row["variant"]: row for row in rows if row["columns"] == 131_072}
    now = last["as it is"]
    in_pairs = last["registers without a limit, partials merged in pairs"]
    assert f"took {in_pairs['registers']} registers" in text
    assert f"takes {now['registers']}:" in text
    assert f"from {in_pairs['ns'] / 1e3:.0f} µs to {now['ns'] / 1e3:.0f}" in text
    assert (in_pairs["blocks_by_registers"], now["blocks_by_registers"]) == (2, 3)


def test_what_the_script_undoes_stands_in_the_file_once():
    """Else the script stops on a GPU, which nobody may have at hand."""
    texts = re.findall(r'\(\s*"(.*?)",', VARIANTS.partition("FEWEST")[0])
    assert [FAST.count(text) for text in texts] == [1, 1, 1]


def test_what_more_rows_for_a_cluster_cost_is_what_was_measured():
    share = {
        (row["columns"], row["dtype"], row["fetch"], row["each"]): row["share"]
        for row in _record("fast_fetch_h200")["rows"]
    }
    shown = _rows_below("| columns | each thread, one row |")
    ways = [(fetch, each) for fetch in ("async", "bulk") for each in (1, 4, 8)]
    assert shown == [
        _row(f"{columns:,} {dtype}", [share[columns, dtype, *way] for way in ways])
        for columns, dtype in _sizes_in("\n".join(shown))
    ]
    assert len(shown) == 7


def test_the_faster_shapes_are_those_measured():
    shown = _rows_below("| columns | this file's shape | best of all shapes |")
    expected = []
    for row in _record("fast_variants_h200")["shapes"]:
        columns, dtype, shares = row["columns"], row["dtype"], row["shares"]
        best = max(shares, key=lambda shape: shares[shape])
        both = [shares[_shape_of_the_file(columns, dtype)], shares[best]]
        expected.append(f"{_row(f'{columns:,} {dtype}', both)} {best.replace(' ', ' | ')} |")
    assert shown == expected
    assert len(shown) == 12


def test_what_led_to_the_eleventh_try_of_06_is_what_was_measured():
    at = {row["dtype"]: row["shares"] for row in _long_rows("fast_06_tries_h200")}
    own_row = "arrival relaxed, {} blocks of 256 threads, rows one after another: {}"
    long_rows = _long_rows("fast_06_shapes_h200")
    now = [row["shares"][row["chosen"]] for row in long_rows]
    as_before = [row["shares"][one] for row, one in zip(long_rows, ("8 256", "4 256"), strict=True)]
    rows = {
        "The tenth try": ["tenth try"] * 2,
        "A relaxed arrival, and no barrier at the end": ["arrival relaxed"] * 2,
        "A row for each cluster, too": [own_row.format(8, 1), own_row.format(4, 1)],
        "Instead, the exponentials in registers": ["values in registers"] * 2,
    }
    expected = [
        _row(what, [at[dtype][name] for dtype, name in zip(at, names, strict=True)])
        for what, names in rows.items()
    ]
    expected.insert(3, _row("Less work for each logit, too", as_before))
    expected.insert(4, _row("This file: 512 threads, too", now))
    two_rows = at["bfloat16"][own_row.format(8, 2)]
    assert f"Two rows for a cluster of eight blocks reached {two_rows:.3f} in bfloat16" in (
        " ".join(CROSS_ENTROPY_TEXT.split())
    )
    assert _rows_below("| change | float32 |", CROSS_ENTROPY_TEXT) == expected


def test_the_table_of_06_beside_quack_is_what_was_measured():
    now = {
        (row["columns"], row["dtype"]): row["shares"][row["chosen"]]
        for row in _record("fast_06_shapes_h200")["rows"]
    }
    rows = sorted(
        _record("fast_06_tries_h200")["rows"],
        key=lambda row: (row["dtype"] != "float32", row["columns"]),
    )
    assert not any(row["wrong"] for row in rows)
    expected = []
    for row in rows:
        columns, dtype, shares = row["columns"], row["dtype"], row["shares"]
        others = [shares[one] for one in ("tenth try", "values in registers", "quack")]
        expected.append(_row(f"{columns:,} {dtype}", [now.get((columns, dtype)), *others]))
    assert _rows_below("| columns | this file | tenth try |", CROSS_ENTROPY_TEXT) == expected


def test_the_shapes_of_06_are_those_chosen():
    rows = _record("fast_06_shapes_h200")["rows"]
    at = {(row["longest_kib"], row["dtype"]): row for row in rows}
    expected, shapes = [], []
    for kib in dict.fromkeys(row["longest_kib"] for row in rows):
        both = [at[kib, dtype] for dtype in ("float32", "bfloat16")]
        [chosen] = {row["chosen"] for row in both}
        assert chosen == max(both[0]["shares"], key=lambda one: _chosen_by(both, one))
        cluster, threads = chosen.split()
        shares = [row["shares"][chosen] for row in both]
        expected.append(_row(f"{kib} KiB | {cluster} | {threads}", shares))
        shapes.append((kib << 10, cluster, threads))
    assert _rows_below("| row of up to |", CROSS_ENTROPY_TEXT) == expected
    table = re.findall(
        r"^ +(\d+) << (\d+): Shape\(cluster=(\d+), threads=(\d+)\),$",
        (CROSS_ENTROPY / "fast.py").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert [(int(number) << int(by), *shape) for number, by, *shape in table] == shapes


def _chosen_by(rows: Sequence[dict[str, Any]], shape: str) -> float:
    """Return a shape's share for the dtype that has 128,256 columns, or for both dtypes."""
    of_course = [row for row in rows if row["columns"] == 128_256]
    return sum(row["shares"][shape] for row in of_course or rows)


def _long_rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of 128,256 columns, that in float32 first."""
    rows = [row for row in _record(name)["rows"] if row["columns"] == 128_256]
    return sorted(rows, key=lambda row: row["dtype"], reverse=True)


def _shape_of_the_file(columns: int, dtype: str) -> str:
    """Read SHAPES of fast.py, which imports what a machine without a GPU may lack."""
    table = re.findall(
        r"^ +(\d+) << (\d+): Shape\(cluster=(\d+), threads=(\d+), rows=(\d+), packs=(\d+)\),$",
        FAST,
        re.MULTILINE,
    )
    size = columns * {"float32": 4, "bfloat16": 2}[dtype]
    return next(" ".join(shape) for number, by, *shape in table if size <= int(number) << int(by))


def _variants_in(text: str) -> list[str]:
    heading = text.partition("\n| columns | as it is | ")[2].partition(" |\n")[0]
    return heading.split(" | ")


def _rows_below(heading: str, text: str = FAST_TEXT) -> list[str]:
    """Return the rows of the table that begins so, in fast.md of 04 or another text."""
    return text.partition(f"\n{heading}")[2].partition("\n\n")[0].splitlines()[2:]


def _sizes_in(text: str) -> list[tuple[int, str]]:
    return [(int(columns.replace(",", "")), dtype) for columns, dtype in HEADING.findall(text)]


def _fast_and_quack(row: dict[str, Any]) -> tuple[float, float]:
    return row["shares"]["solution, fast"], row["shares"]["quack"]


def _record(name: str) -> dict[str, Any]:
    return json.loads((ROOT / "bench" / "results" / f"{name}.json").read_text())


def _row(title: str, shares: Sequence[float | None]) -> str:
    shown = ("–" if share is None else f"{share:.3f}" for share in shares)
    return f"| {title} | " + " | ".join(shown) + " |"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, which no package makes importable, nor what lies beside it."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    spec = importlib.util.spec_from_file_location("fast", ROOT / "bench" / "fast.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_who_fails_somewhere_has_no_mean(script: ModuleType):
    """Torch eager, which failed in bfloat16, had the mean of its float32 share alone."""
    rows = [
        {"contender": "a", "share": 0.5},
        {"contender": "a", "share": 0.32},
        {"contender": "b", "share": 0.5},
        {"contender": "b", "share": None},
    ]
    assert script._means(rows) == {"a": pytest.approx(0.4), "b": None}


def test_a_contender_whose_package_is_missing_is_left_out(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    exercise = script.catalog.find(ROOT, "06_cross_entropy")
    folder = tmp_path / exercise.name
    folder.mkdir()
    (folder / "plain.py").write_text("# Needs: torch\n")
    (folder / "rare.py").write_text("# Needs: no_such_package\n")
    monkeypatch.setattr(script, "OTHERS", tmp_path)
    names = [one.name for one in script.entrants(exercise, 2)]
    assert "plain" in names
    assert "rare" not in names
    assert "rare left out: its package is not installed" in capsys.readouterr().err

"""The two pictures of a benchmark: written whole, without a warning, with everything named."""

from __future__ import annotations

import html
import os
import re
from pathlib import Path

import pytest

from grader.grading.bench_record import Benchmark, Point, Size
from grader.model.errors import UsageError
from grader.model.results import Environment
from grader.reports import plots

pytestmark = pytest.mark.slow

NAMES = ("your kernel", "torch eager", "torch.compile", "solution", "mine", "b", "seventh")
SIZES = tuple(
    Size(rows=n, case=f"{n} float32", bytes=12 * n, flops=n, calls=1, l2_multiple=40.0)
    for n in (87_376, 6_000_000, 400_000_000)
)


def points(name: str, *bandwidths: float | None) -> list[Point]:
    return [
        Point(contender=name, case=s.case, bytes=s.bytes, problem="wrong")
        if b is None
        else Point(contender=name, case=s.case, bytes=s.bytes, seconds=s.bytes / b, bandwidth=b)
        for s, b in zip(SIZES, bandwidths, strict=True)
    ]


def benchmark(**changes: object) -> Benchmark:
    """Seven contenders, more than there are colours; the fifth has no point."""
    found = [p for i, n in enumerate(NAMES) for p in points(n, 2e11, 3.9e12, (4.1 + i / 50) * 1e12)]
    fields: dict[str, object] = {
        "exercise": "01_vector_add",
        "title": "Vector add",
        "environment": Environment(
            grader="0.1.0", python="3.12.3", device="NVIDIA H200", simulated=False
        ),
        "ceiling": 4.4e12,
        "peak_flops": 66.9e12,
        "sizes": SIZES,
        "contenders": NAMES,
        "points": tuple(p for p in found if p.contender != "mine"),
    }
    return Benchmark(**(fields | changes))


def words(one: Benchmark, folder: Path) -> list[str]:
    """Every text in the picture."""
    path = folder / "bench.svg"
    plots.draw(one, path)
    svg = path.read_text(encoding="utf-8")
    found = re.findall(r"<text[^>]*>(.*?)</text>", svg, re.DOTALL)
    return [html.unescape(re.sub(r"<[^>]+>", "", text)).strip() for text in found]


@pytest.mark.parametrize(
    ("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")]
)
def test_it_is_written_in_the_format_of_its_suffix(suffix: str, start: bytes, tmp_path: Path):
    path = tmp_path / f"bench{suffix}"
    plots.draw(benchmark(), path)
    assert path.read_bytes().startswith(start)


def test_everything_has_its_name(tmp_path: Path):
    told = words(benchmark(), tmp_path)
    assert "01_vector_add on NVIDIA H200" in told
    assert {"Bandwidth against size", "Roofline at the largest size"} <= set(told)
    assert "ceiling 4,400 GB/s" in told
    assert "memory: 4,400 GB/s" in told
    assert "arithmetic: 66.9 TFLOP/s, float32" in told
    assert "ridge: 15.2 FLOP/byte" in told
    for number, name in enumerate(NAMES):
        if name == "mine":
            assert "mine: no figure" in told
            continue
        assert name in told
        gigaflops = (4100 + 20 * number) / 12  # one operation for 12 bytes
        assert f"{name}: {gigaflops:,.0f} GFLOP/s" in told


def test_a_contender_stands_at_its_largest_size_that_has_a_figure(tmp_path: Path):
    one = benchmark(contenders=("mine",), points=tuple(points("mine", 1.2e12, 2.4e12, None)))
    assert "mine: 200 GFLOP/s" in words(one, tmp_path)


def test_without_a_clock_there_is_no_ridge(tmp_path: Path):
    told = words(benchmark(peak_flops=None), tmp_path)
    assert "memory: 4,400 GB/s" in told
    assert not [text for text in told if "ridge" in text or "arithmetic" in text]


def test_without_operations_there_is_no_roofline(tmp_path: Path):
    sizes = tuple(one.model_copy(update={"flops": None}) for one in SIZES)
    told = words(benchmark(sizes=sizes), tmp_path)
    assert "no contender to show" in told
    assert "ceiling 4,400 GB/s" in told
    assert not [
        text for text in told if "GFLOP/s" in text and text != "operations per second (GFLOP/s)"
    ]


def test_where_everybody_failed_the_ceiling_is_left(tmp_path: Path):
    told = words(benchmark(points=()), tmp_path)
    assert "no contender to show" in told
    assert {f"{name}: no figure" for name in NAMES} <= set(told)
    assert "ceiling 4,400 GB/s" in told


def test_a_single_size_is_enough(tmp_path: Path):
    one = benchmark(
        sizes=SIZES[:1], contenders=("mine",), points=tuple(points("mine", 1e12, 1e12, 1e12)[:1])
    )
    assert "mine" in words(one, tmp_path)


def test_the_name_of_a_file_is_shown_as_it_is(tmp_path: Path):
    names = ("_mine", "cost$a$", "a$b", "x^2_y")
    found = [point for name in names for point in points(name, 1e12, 1e12, 1e12)]
    told = words(benchmark(contenders=names, points=tuple(found)), tmp_path)
    assert set(names) <= set(told)


def test_a_picture_needs_a_known_suffix():
    with pytest.raises(UsageError) as told:
        plots.require_writable(Path("bench.jpg"))
    assert told.value.message == "The picture bench.jpg must end in .png, .svg, .pdf."
    assert told.value.next_step


def test_a_picture_needs_a_folder(tmp_path: Path):
    with pytest.raises(UsageError) as told:
        plots.require_writable(tmp_path / "nowhere" / "bench.png")
    assert "nowhere/bench.png does not exist" in told.value.message
    plots.require_writable(tmp_path / "bench.png")


def test_a_folder_of_others_takes_no_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(UsageError):
        plots.require_writable(tmp_path / "bench.png")


def test_a_picture_that_cannot_be_written_is_told(tmp_path: Path):
    taken = tmp_path / "bench.png"
    taken.mkdir()
    with pytest.raises(UsageError) as told:
        plots.draw(benchmark(), taken)
    assert told.value.message.startswith(f"The picture {taken} cannot be written: ")
    assert told.value.next_step == "Give another path."

"""An exercise with several entries on the command line: all of it, or NAME:ENTRY."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader import cli

COURSE = Path(__file__).parents[1] / "courses" / "entries"


@pytest.fixture(autouse=True)
def in_the_course(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(COURSE)
    monkeypatch.setenv("COLUMNS", "100")


def test_the_list_shows_the_points_of_all_entries(capfd: pytest.CaptureFixture[str]):
    assert cli.main(["list"]) == 0
    assert "01_scale  Scale  triton      21" in capfd.readouterr().out


@pytest.mark.slow  # it imports torch
@pytest.mark.parametrize(
    ("name", "entries", "points"),
    [
        ("01_scale", ["scale(", "scale_backward("], "21 points"),
        ("01_scale:scale", ["scale("], "10 points"),
        ("1:scale_backward", ["scale_backward("], "11 points"),
    ],
)
def test_show_prints_the_contract_of_each_entry_or_of_one(
    name: str, entries: list[str], points: str, capfd: pytest.CaptureFixture[str]
):
    assert cli.main(["show", name]) == 0
    said = capfd.readouterr().out
    assert points in said
    shown = [line.split()[1] for line in said.splitlines() if line.startswith("entry  ")]
    assert [word.partition("(")[0] + "(" for word in shown] == entries
    assert said.count("graded\n") == len(entries)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("check", "01_scale", "--case", "2x1,float32"), 2, "01_scale has 2 entries"),
        (("show", "01_scale", "--trace"), 2, "Name one of them, such as 01_scale:scale."),
        (("bench", "01_scale"), 2, "01_scale has 2 entries"),
        (("check", "01_scale:gone"), 2, "01_scale has no entry 'gone'."),
        # These take whole files.
        (("verify", "01_scale:scale"), 2, "There is no exercise named '01_scale:scale'."),
        (("stub", "01_scale:scale"), 2, "There is no exercise named '01_scale:scale'."),
        (("check", "01_scale:scale", "--case", "2x2x2,float32"), 2, "scale(x, weight, out) takes"),
        (("stub", "--check"), 0, ""),
    ],
)
def test_what_needs_one_entry_or_a_whole_file_says_so(
    words: tuple[str, ...], code: int, said: str, capfd: pytest.CaptureFixture[str]
):
    assert cli.main(list(words)) == code
    assert said in capfd.readouterr().err


@pytest.mark.slow
def test_a_check_prints_each_entry_and_the_command_that_replays_its_case(
    capfd: pytest.CaptureFixture[str],
):
    file = "solutions/01_scale/wrong_backward_drops_a_row.py"
    assert cli.main(["check", "01_scale", "--kernel", file, "--device", "cpu"]) == 1
    lines = capfd.readouterr().out.splitlines()
    headings = [line.split() for line in lines if line.startswith("scale")]
    assert headings[:2] == [["scale", "7/10"], ["scale_backward", "0/11"]]
    (replay,) = (line.split(maxsplit=1)[1] for line in lines if "replay    " in line)
    assert replay.startswith(f"grader check 01_scale:scale_backward --kernel {file} --case '")

    case = replay.split("'")[1]
    words = ["check", "01_scale:scale_backward", "--kernel", file, "--case", case, "--json"]
    assert cli.main([*words, "--device", "cpu"]) == 1
    result = json.loads(capfd.readouterr().out)
    assert (result["exercise"], result["entries"]) == ("01_scale:scale_backward", [])
    assert [s["name"] for s in result["steps"] if s["outcome"] == "fail"] == ["correctness"]


@pytest.mark.slow
def test_a_picture_is_of_the_entry_that_is_named(capfd: pytest.CaptureFixture[str]):
    assert cli.main(["show", "01_scale:scale_backward", "--trace", "--solution"]) == 0
    said = capfd.readouterr().out
    assert "scale_backward_kernel, 1 program" in said
    assert "01_scale:scale_backward" in said

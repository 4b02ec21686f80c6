"""The words for causes are those of the table of mistakes, wherever they are written."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from mistakes_table import vocabulary

from grader import backends
from grader.correctness import causes
from grader.correctness.cause import Cause
from grader.course import catalog
from grader.model import Advice, discover
from grader.sandbox.failures import CAUSES

ROOT = Path(__file__).parents[2]
# Files that recognize several causes, and name each where they explain it.
SEVERAL = {
    "added_twice",
    "axis_for_number",
    "block_step",
    "checked_index",
    "early_return",
    "filled_lanes",
    "index_below_zero",
    "infinite_difference",
    "known_mistake",
    "lanes_meet",
    "lanes_not_reduced",
    "left_out",
    "line_to_split",
    "load_mask",
    "mask_of_address",
    "mask_of_lanes",
    "misused_language",
    "nothing_on_the_gpu",
    "old_maximum",
    "one_program",
    "overlapping_programs",
    "own_length",
    "part_of_a_sum",
    "program_for_each_column",
    "stride_of_one_block",
    "swapped_in_launch",
    "tree_ends_early",
    "unfilled_shared",
    "unlike_exponentials",
    "unscaled_program",
}


def test_each_cause_has_a_sentence() -> None:
    known = discover(causes.__name__, "CAUSE", Cause)
    assert set(known) - SEVERAL <= set(vocabulary())
    assert set(known) >= SEVERAL


def test_the_words_in_the_code_are_known() -> None:
    folder = ROOT / "grader" / "correctness"
    texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*.py")]
    reasons = {word for text in texts for word in re.findall(r"Reason\(\s*\"(\w+)\"", text)}
    others = {word for text in texts for word in re.findall(r"^ +\"([a-z_]+)\",\n +\)", text, re.M)}
    assert reasons
    assert others
    assert reasons | others <= set(vocabulary())


def test_the_words_of_backends_and_exercises_are_known() -> None:
    advice = {
        hint.cause
        for backend in backends.every()
        for table in backend.hints.messages.values()
        for hint in table.values()
        if isinstance(hint, Advice)
    }
    specs = [each.spec for each in catalog.parts(ROOT)]
    listed = {mistake.cause for spec in specs for mistake in spec.mistakes}
    assert {"ignore_index", "rescale"} <= listed
    assert advice | listed | set(CAUSES.values()) <= set(vocabulary())


def test_the_vocabulary_is_readable() -> None:
    tables = tomllib.loads((ROOT / "tests/mistakes/causes.toml").read_text(encoding="utf-8"))
    assert sum(map(len, tables.values())) == len(vocabulary())

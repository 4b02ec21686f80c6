"""The parser of TTIR, on texts that Triton printed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.backends.triton.device.faults import Malformed
from grader.backends.triton.device.ttir.parse import parse
from grader.backends.triton.device.ttir.records import Operation, Region, Site, Type

GOLDEN = Path(__file__).parent / "golden"
SOFTMAX = (GOLDEN / "04_online_softmax.ttir").read_text(encoding="utf-8")


def operations(region: Region) -> Iterator[Operation]:
    for block in region.blocks:
        for op in block.operations:
            yield op
            for inner in op.regions:
                yield from operations(inner)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.ttir")), ids=lambda path: path.stem)
def test_every_golden_text_parses(path: Path) -> None:
    module = parse(path.read_text(encoding="utf-8"))
    assert module.entry.public
    for op in operations(module.entry.body):
        assert len(op.operands) == len(op.operand_types), op
        assert len(op.results) == len(op.result_types), op


def test_a_loop_has_bounds_carried_values_and_a_body() -> None:
    body = parse(SOFTMAX).entry.body
    loop, last = (op for op in operations(body) if op.name == "scf.for")
    assert loop.operands == ("c0_i32", "columns", "c4096_i32", "cst_0", "sums")
    assert loop.results == ("sums_6#0", "sums_6#1")
    assert loop.result_types == (Type("f32"), Type("f32", (4096,)))
    [block] = loop.regions[0].blocks
    assert block.arguments == (
        ("start", Type("i32")),
        ("row_max", Type("f32")),
        ("sums_7", Type("f32", (4096,))),
    )
    assert last.regions[0].blocks[0].operations[-1].name == "scf.yield"


def test_a_reduction_has_an_axis_and_a_region() -> None:
    reduction = next(op for op in operations(parse(SOFTMAX).entry.body) if op.name == "tt.reduce")
    assert reduction.attributes == {"axis": 0}
    assert reduction.operand_types == (Type("f32", (4096,)),)
    assert reduction.result_types == (Type("f32"),)
    assert [name for name, _ in reduction.regions[0].blocks[0].arguments] == [
        "new_max_23",
        "new_max_24",
    ]


def test_a_site_names_the_variable_and_the_calls() -> None:
    reduction = next(op for op in operations(parse(SOFTMAX).entry.body) if op.name == "tt.reduce")
    library = "site-packages/triton/language/standard.py"
    kernel = "solutions/04_online_softmax/kernel.py"
    assert reduction.site == Site(library, 191, "", (Site(kernel, 38, "new_max"),))


def test_a_load_of_pointers_gives_what_they_point_to() -> None:
    load = next(op for op in operations(parse(SOFTMAX).entry.body) if op.name == "tt.load")
    assert load.operand_types[0] == Type("ptr", (4096,), Type("bf16"))
    assert load.result_types == (Type("bf16", (4096,)),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no form|unexpected"),
        ("module {\n}\n", "no public|one public|no module"),
        (SOFTMAX.replace("%x_ptr:", "%y_ptr:"), "%x_ptr has no value"),
        (SOFTMAX.replace("tensor<4096xi32>", "tensor<4096x4096xi32>"), "elements"),
        (SOFTMAX.replace("#loc80 =", "#loc81 ="), "no location #loc80"),
        (SOFTMAX.replace("%sums_6:2 =", "%sums_6:3 ="), "results"),
    ],
)
def test_another_text_is_malformed(text: str, message: str) -> None:
    with pytest.raises(Malformed, match=message):
        parse(text)

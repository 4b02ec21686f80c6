"""The parser of TTIR, on texts that Triton printed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.backends.triton.device.faults import Malformed
from grader.backends.triton.device.ttir import lines
from grader.backends.triton.device.ttir.parse import parse
from grader.backends.triton.device.ttir.records import Dense, Module, Operation, Region, Site, Type

GOLDEN = Path(__file__).parent / "golden"
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(GOLDEN.glob("*.ttir"))}
SOFTMAX = TEXTS["04_online_softmax"]


def operations(region: Region) -> Iterator[Operation]:
    for block in region.blocks:
        for op in block.operations:
            yield op
            for inner in op.regions:
                yield from operations(inner)


def first(text: str, name: str) -> Operation:
    """Return the first operation of a name in a golden text."""
    return next(op for op in all_operations(parse(TEXTS[text])) if op.name == name)


def all_operations(module: Module) -> Iterator[Operation]:
    for function in module.functions.values():
        yield from operations(function.body)


@pytest.mark.parametrize("name", TEXTS)
def test_every_golden_text_parses(name: str) -> None:
    module = parse(TEXTS[name])
    assert module.entry.public
    for op in all_operations(module):
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


def test_a_line_that_was_read_before_keeps_its_own_location() -> None:
    text = """module {
tt.func public @k() {
%x = arith.constant 1 : i32 loc(#loc1)
tt.return
}
}
#loc1 = loc("kernel.py":1:0)
#loc2 = loc("kernel.py":2:0)
"""
    found = [parse(each).entry.body.blocks[0].operations[0].site.line for each in (text, text)]
    assert found == [1, 1]
    moved = parse(text.replace("i32 loc(#loc1)", "i32 loc(#loc2)"))
    assert moved.entry.body.blocks[0].operations[0].site.line == 2


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_gives_the_same_records_again(name: str) -> None:
    lines.operation_in.cache_clear()
    fresh = parse(TEXTS[name])
    assert repr(parse(TEXTS[name])) == repr(fresh)


def test_a_text_names_no_place_of_an_operation() -> None:
    with pytest.raises(Malformed, match="zero byte"):
        lines.read("module {\ntt.return\n\0000\n}\n")


def test_an_operation_does_not_end_on_a_later_line() -> None:
    with pytest.raises(Malformed):
        parse(SOFTMAX.replace("dense<0.000000e+00>", "dense<\n0.000000e+00>"))


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


def test_a_function_returns_early_through_its_blocks() -> None:
    blocks = parse(TEXTS["language_early_return"]).entry.body.blocks
    assert [block.label for block in blocks] == ["bb0", "bb1", "bb2", "bb3"]
    assert blocks[0].operations[-1].successors == (("bb1", ()), ("bb2", ()))
    assert blocks[2].operations[-1].successors == (("bb3", ("cst_0",)), ("bb3", ("cst",)))
    assert [type_ for _, type_ in blocks[3].arguments] == [Type("f32")]


def test_a_call_names_a_function_that_was_not_inlined() -> None:
    module = parse(TEXTS["language_calls"])
    call = first("language_calls", "tt.call")
    callee = module.functions[str(call.attributes["callee"])]
    assert not callee.public
    assert callee.result_types == call.result_types == (Type("f32"), Type("f32"))


def test_a_while_loop_has_two_regions() -> None:
    loop = first("language_loops", "scf.while")
    before, after = loop.regions
    assert loop.operands == ("cst", "c0_i32", "c0_i32")
    assert [name for name, _ in before.blocks[0].arguments] == ["total_4", "count", "i_5"]
    assert before.blocks[0].operations[-1].operands == ("2", "total_4", "count", "i_5")
    assert len(after.blocks[0].arguments) == 3


def test_a_scaled_product_has_its_scales_last() -> None:
    products = [
        op
        for op in all_operations(parse(TEXTS["language_dot_scaled"]))
        if op.name == "tt.dot_scaled"
    ]
    assert [op.operands for op in products] == [
        ("x_7", "y_11", "acc", "sx_19", "sx_19"),
        ("x_7", "y_11", "acc_20", "sx_19"),
    ]
    assert products[1].attributes == {
        "a_elem_type": "e5m2",
        "b_elem_type": "e4m3",
        "fastMath": True,
        "operandSegmentSizes": (1, 1, 1, 1, 0),
    }


def test_a_store_through_a_descriptor_has_its_indices_last() -> None:
    store = first("language_descriptors", "tt.descriptor_store")
    assert store.operands == ("dy", "v", "c16_i32", "c0_i32")
    made = first("language_descriptors", "tt.make_tensor_descriptor")
    assert made.result_types == (Type("tensordesc", None, Type("f32", (16, 16))),)
    assert made.attributes == {"padding": 2}


@pytest.mark.parametrize(
    ("text", "name", "attributes"),
    [
        ("language_atomics", "tt.atomic_cas", {"sem": "acquire", "scope": "gpu"}),
        ("language_memory", "tt.load", {"cache": "cg", "evict": "evict_first"}),
        ("language_shapes", "tt.gather", {"axis": 0}),
        ("language_shapes", "tt.trans", {"order": (1, 0)}),
        ("language_debugging", "tt.assert", {"message": "must be positive: é"}),
        (
            "language_debugging",
            "tt.print",
            {"prefix": ' a quote " and v: ', "hex": False, "isSigned": (0, 1)},
        ),
        ("language_dots", "tt.dot", {"inputPrecision": "tf32"}),
        ("language_arithmetic", "tt.clampf", {"propagateNan": "none"}),
        (
            "language_inline",
            "tt.elementwise_inline_asm",
            {
                "asm_string": "add.f32 $0, $2, $3; sub.f32 $1, $2, $3;",
                "constraints": "=f,=f,f,f",
                "packed_element": 1,
                "pure": True,
            },
        ),
    ],
)
def test_attributes_have_the_names_of_the_definition(
    text: str, name: str, attributes: dict[str, object]
) -> None:
    assert first(text, name).attributes == attributes


def test_a_constant_of_bits_is_a_float_with_its_bits() -> None:
    constants = [
        op.attributes["value"]
        for op in all_operations(parse(TEXTS["language_constants"]))
        if op.name == "arith.constant"
    ]
    assert Dense((float("-inf"),)) in constants
    assert any(isinstance(each, Dense) and each.bits == (0x7FC00000,) for each in constants)


def constant(text: str) -> object:
    """Return the value of the only constant of a module."""
    function = f"tt.func public @k() {{\n%c = arith.constant {text}\ntt.return\n}}"
    return first_of(parse(f"module {{\n{function}\n}}\n")).attributes["value"]


def first_of(module: Module) -> Operation:
    return next(all_operations(module))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("-7 : i64", -7),
        ("0x7C00 : f16", float("inf")),
        ("0x7C : f8E5M2", float("inf")),
        ("dense<[1, -2]> : tensor<2xi32>", Dense((1, -2))),
        ("dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>", Dense((1, 2, 3, 4))),
        ("dense<[true, false]> : tensor<2xi1>", Dense((True, False))),
        ('dense<"0x01000000FFFFFFFF"> : tensor<2xi32>', Dense((1, -1))),
        (
            'dense<"0x0000803F0000004000000000"> : tensor<3xf32>',
            Dense((1.0, 2.0, 0.0), (0x3F800000, 0x40000000, 0)),
        ),
    ],
)
def test_constants(text: str, value: object) -> None:
    assert constant(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "dense<[1, 2, 3]> : tensor<2xi32>",
        'dense<"0x00"> : tensor<2xi32>',
        "dense<0> : tensor<2048x1024xi32>",
        "dense<0> : tensor<0xi32>",
        f"{'9' * 5000} : i64",
        "0x1FFFFFFFF : f32",
    ],
)
def test_a_constant_that_no_compiler_makes_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        constant(text)


@pytest.mark.parametrize(
    "text",
    [
        "module {\n" * 1000 + "}\n" * 1000,
        "module " + "{" * 5000,
        "module " + "tensor<" * 5000,
        "module " + "loc(" * 5000,
        "module {\n" + "x\n" * 100_000 + "}\n",
        "module " + "[" * 100_000,
        "x" * (5 << 20),
        SOFTMAX.replace("#loc80 = loc(", "#loc80 = loc(callsite(#loc80 at #loc80)"),
        SOFTMAX.replace("#loc1 = loc(", "#loc1 = loc(" + '"a"(' * 1000),
        SOFTMAX.replace("#loc1 = loc(", '#loc1 = loc("a":1:)\n#loc999 = loc('),
    ],
    ids=str.split("regions braces types locations lines brackets bytes cycle names column"),
)
def test_hostile_text_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parse(text)


def test_regions_nest_to_a_limit() -> None:
    def nested(depth: int) -> str:
        inside = "scf.if %c {\n" * depth + "}\n" * depth
        function = f"tt.func public @k(%c: i1) {{\n{inside}tt.return\n}}"
        return f"module {{\n{function}\n}}\n"

    assert parse(nested(50)).entry.name == "k"
    with pytest.raises(Malformed, match="nest"):
        parse(nested(70))


@pytest.mark.parametrize(
    "line", ["tt.x // loc(#loc1)", "memref.alloc(#loc1)"], ids=["a comment", "a name that ends so"]
)
def test_a_line_read_by_itself_takes_no_location_from_what_only_looks_like_one(line: str) -> None:
    operation = lines._operation_of(line)
    items = () if operation is None else operation.items
    assert "LOCATION" not in [getattr(item, "type", "") for item in items]


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_mutilated_text_is_malformed_or_parses(data: st.DataObject) -> None:
    text = TEXTS[data.draw(st.sampled_from(sorted(TEXTS)))]
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 60))
        put = data.draw(
            st.sampled_from(["", "%", "{\n", "}", "<", "loc(", '"', "0x", "#loc", "tensor<"])
            | st.text(max_size=3)
            | st.sampled_from([text[place : place + 40] for place in range(0, len(text), 97)])
        )
        text = text[:start] + put + text[start + length :]
    with suppress(Malformed):
        parse(text)

"""Inline assembly: the arithmetic instructions of PTX, on many registers of one name at a time.

A register is a tensor of int64 that holds its bits. Instructions about memory, threads and control
flow are not simulated. A launch that depends on the one before it begins after its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from grader.backends.triton.device import integers, rounding
from grader.backends.triton.device.faults import NotSimulated
from grader.backends.triton.device.libdevice import find
from grader.backends.triton.device.ptx_text import Instruction, instructions

_FLOATS = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}

Registers = dict[str, Tensor]
Function = Callable[..., Tensor]
Compute = Callable[[Instruction, Sequence[Tensor]], Tensor]


def check(text: str) -> None:
    """Raise NotSimulated or Malformed for a text with other instructions than those known here."""
    for instruction in instructions(text):
        _function(instruction)


def run(text: Sequence[Instruction], registers: Registers) -> None:
    """Carry out instructions: each changes the register that is its first operand."""
    for instruction in text:
        _carry_out(instruction, registers)


def _carry_out(instruction: Instruction, registers: Registers) -> None:
    function = _function(instruction)
    target, *sources = instruction.operands
    result = function(instruction, [_value(each, registers) for each in sources])
    if "sat" in instruction.modifiers:
        result = _saturated(result, instruction.types[0])
    if instruction.guard:
        guard = _value(instruction.guard, registers) != 0
        before = registers.get(target, torch.zeros(1, dtype=torch.int64))
        result = torch.where(guard ^ instruction.negated, result, before)
    registers[target] = result


def _function(instruction: Instruction) -> Compute:
    function = _FUNCTIONS.get(instruction.name)
    known = _WITHOUT_EFFECT | _MODIFIERS.get(instruction.name, frozenset())
    if function is None or not instruction.types or not instruction.modifiers <= known:
        raise NotSimulated(f"the PTX instruction {instruction.text}")
    if "sat" in instruction.modifiers and instruction.types[0] not in _FLOATS:
        raise NotSimulated(f"the PTX instruction {instruction.text}")
    return function


def _saturated(bits: Tensor, type_: str) -> Tensor:
    """Clamp floats to 0 and 1; a NaN becomes 0."""
    return written(read(bits, type_).nan_to_num(nan=0.0).clamp(0.0, 1.0))


def _value(text: str, registers: Registers) -> Tensor:
    """Return the bits of a register, or of a number: 7, 0x1F, 0f3F800000, 0d3FF0000000000000."""
    if text in registers:
        return registers[text]
    try:
        if text[:2] in ("0f", "0F", "0d", "0D"):
            return _number(int(text[2:], 16))
        return _number(int(text.rstrip("U"), 0))
    except ValueError:
        raise NotSimulated(f"the operand {text[:80]} in assembly") from None


def _number(value: int) -> Tensor:
    half = 1 << 63
    return torch.tensor([(value + half) % (2 * half) - half])


def read(bits: Tensor, type_: str) -> Tensor:
    """Return the values that the low bits of registers mean as a type."""
    narrow = bits.to(_integer(type_))
    return narrow.view(_FLOATS[type_]) if type_ in _FLOATS else narrow


def written(value: Tensor) -> Tensor:
    """Return the bits of values, as registers hold them."""
    if value.dtype == torch.bool:
        return value.long()
    return integers.widened(integers.as_integers(value))


def _integer(type_: str) -> torch.dtype:
    return integers.OF_SIZE[_width(type_) // 8]


def _width(type_: str) -> int:
    return int(type_.lstrip("subf").removesuffix("x2")) if type_ != "pred" else 8


def _same_type(name: str) -> Compute:
    """Return the function of an instruction whose operands and result have one type."""

    def compute(instruction: Instruction, sources: Sequence[Tensor]) -> Tensor:
        type_ = instruction.types[-1]
        if type_.endswith("x2"):
            return _in_halves(lambda parts: _applied(name, type_[:-2], parts), sources)
        return _applied(name, type_, sources)

    return compute


def _in_halves(function: Callable[[Sequence[Tensor]], Tensor], sources: Sequence[Tensor]) -> Tensor:
    low = function([each & 0xFFFF for each in sources])
    high = function([(each >> 16) & 0xFFFF for each in sources])
    return (low & 0xFFFF) | (high & 0xFFFF) << 16


def _applied(name: str, type_: str, sources: Sequence[Tensor]) -> Tensor:
    values = [read(each, type_) for each in sources]
    if type_ in _FLOATS:
        library = _LIBRARY.get(name)
        if library is not None:
            function = find(f"__nv_{library}", values[0].dtype)
            assert function is not None, library
            return written(function(*values))
        return written(_of_floats(name, values))
    if name in _UNSIGNED and type_.startswith("u"):
        return written(_UNSIGNED[name](*values))
    if name in _WHOLE:
        return written(_WHOLE[name](*values))
    raise NotSimulated(f"the PTX instruction {name}.{type_}")


def _of_floats(name: str, values: Sequence[Tensor]) -> Tensor:
    if name not in _ARITHMETIC:
        raise NotSimulated(f"the PTX instruction {name} of floats")
    result: Tensor = _ARITHMETIC[name](*values)
    return result


_ARITHMETIC: Mapping[str, Function] = {
    "abs": torch.abs,
    "add": torch.add,
    "div": torch.div,
    "max": torch.fmax,
    "min": torch.fmin,
    "mul": torch.mul,
    "neg": torch.neg,
    "sub": torch.sub,
}
# Functions of floats, with their names in libdevice.
_LIBRARY = {
    "cos": "cos",
    "ex2": "exp2",
    "fma": "fma",
    "lg2": "log2",
    "mad": "fma",
    "rcp": "frcp_rn",
    "rsqrt": "rsqrt",
    "sin": "sin",
    "sqrt": "sqrt",
    "tanh": "tanh",
}
_WHOLE: Mapping[str, Function] = {
    "abs": torch.abs,
    "add": torch.add,
    "and": torch.bitwise_and,
    "div": integers.divide,
    "mad": lambda a, b, c: a * b + c,
    "max": torch.maximum,
    "min": torch.minimum,
    "mul": torch.mul,
    "neg": torch.neg,
    "not": torch.bitwise_not,
    "or": torch.bitwise_or,
    "rem": integers.remainder,
    "sub": torch.sub,
    "xor": torch.bitwise_xor,
}


def _by_order(choose: Function) -> Function:
    """Compare integers as unsigned ones."""
    return lambda a, b: integers.ordered(choose(integers.ordered(a), integers.ordered(b)))


_UNSIGNED: Mapping[str, Function] = {
    "div": integers.divide_unsigned,
    "max": _by_order(torch.maximum),
    "min": _by_order(torch.minimum),
    "rem": integers.remainder_unsigned,
}


def _move(instruction: Instruction, sources: Sequence[Tensor]) -> Tensor:
    [bits] = sources
    return written(read(bits, instruction.types[-1]))


def _product(instruction: Instruction, sources: Sequence[Tensor]) -> Tensor:
    """Multiply: floats, or integers of which `lo`, `hi` or `wide` says what is kept."""
    type_ = instruction.types[-1]
    words = instruction.modifiers
    if "hi" in words or "wide" in words:
        values = [read(each, type_) for each in sources[:2]]
        unsigned = type_.startswith("u")
        wide = [integers.widened(each) if unsigned else each.long() for each in values]
        product = wide[0] * wide[1]
        if _width(type_) > 32:
            raise NotSimulated(f"the PTX instruction {instruction.text}")
        if "hi" in words:
            product = product >> _width(type_)
        if len(sources) > 2:
            product = product + sources[2]
        return product if "wide" in words else written(product.to(values[0].dtype))
    return _same_type(instruction.name)(instruction, sources)


def _shift(instruction: Instruction, sources: Sequence[Tensor]) -> Tensor:
    """Shift; by as many bits as there are, or more, to zero or the sign, as torch does."""
    type_ = instruction.types[-1]
    value = read(sources[0], type_)
    wide = value.long() if type_.startswith("s") else integers.widened(value)
    by = integers.widened(read(sources[1], "u32"))
    if instruction.name == "shl":
        shifted = wide << by
    elif type_.startswith("s"):
        shifted = wide >> by
    else:
        shifted = integers.shift_right_unsigned(*torch.broadcast_tensors(wide, by))
    return written(shifted.to(value.dtype))


def _compare(instruction: Instruction, sources: Sequence[Tensor]) -> Tensor:
    type_ = instruction.types[-1]
    [compare] = [_COMPARISONS[word] for word in instruction.words if word in _COMPARISONS]
    values = [read(each, type_) for each in sources]
    if type_.startswith("u"):
        values = [integers.ordered(each) for each in values]
    return compare(*values).long()


_COMPARISONS: Mapping[str, Function] = {
    "eq": torch.eq,
    "ge": torch.ge,
    "gt": torch.gt,
    "le": torch.le,
    "lt": torch.lt,
    "ne": lambda a, b: (a < b) | (a > b) if a.dtype.is_floating_point else a != b,
}


def _select(instruction: Instruction, sources: Sequence[Tensor]) -> Tensor:
    a, b, predicate = sources
    return torch.where(predicate != 0, a, b)


def _convert(instruction: Instruction, sources: Sequence[Tensor]) -> Tensor:
    """Convert; to a pair of floats (`f16x2`) from two, the first of which is the upper one."""
    target, source = instruction.types[-2:]
    values = [read(each, source) for each in sources]
    if target.endswith("x2"):
        upper, lower = (_as_float(instruction, each, source, target[:-2]) for each in values)
        return (upper & 0xFFFF) << 16 | (lower & 0xFFFF)
    [value] = values
    if target in _FLOATS:
        return _as_float(instruction, value, source, target)
    if source in _FLOATS:
        whole = _whole(instruction, value, torch.trunc)
        unsigned = target.startswith("u")
        return written(rounding.to_integer(whole, _integer(target), unsigned=unsigned))
    wide = value.long() if source.startswith("s") else integers.widened(value)
    return written(wide.to(_integer(target)))


def _as_float(instruction: Instruction, value: Tensor, source: str, target: str) -> Tensor:
    dtype = _FLOATS[target]
    towards_zero = "rz" in instruction.modifiers
    if source in _FLOATS:
        whole = _whole(instruction, value, lambda x: x)
        return written(rounding.to_float(whole, dtype, towards_zero=towards_zero))
    if towards_zero:
        if _width(source) == 64 or source.startswith("b"):
            raise NotSimulated(f"the PTX instruction {instruction.text}")
        exact = value.double() if source.startswith("s") else integers.widened(value).double()
        return written(rounding.to_float(exact, dtype, towards_zero=True))
    if source.startswith("u"):
        return written(integers.unsigned_to_float(value, dtype))
    return written(value.to(dtype))


def _whole(instruction: Instruction, value: Tensor, otherwise: Function) -> Tensor:
    """Round to whole numbers as an instruction says, or `otherwise` if it does not."""
    modes = [_WHOLE_NUMBERS[word] for word in instruction.words if word in _WHOLE_NUMBERS]
    [round_] = modes or [otherwise]
    return round_(value)


_WHOLE_NUMBERS: Mapping[str, Function] = {
    "rmi": torch.floor,
    "rni": torch.round,
    "rpi": torch.ceil,
    "rzi": torch.trunc,
}


def _bits(library: str) -> Compute:
    def compute(instruction: Instruction, sources: Sequence[Tensor]) -> Tensor:
        type_ = instruction.types[-1]
        wide = "ll" if _width(type_) == 64 else ""
        function = find(f"__nv_{library}{wide}", torch.int32)
        assert function is not None, library
        return written(function(read(sources[0], type_)))

    return compute


def _permute(instruction: Instruction, sources: Sequence[Tensor]) -> Tensor:
    function = find("__nv_byte_perm", torch.int32)
    assert function is not None
    return written(function(*(read(each, "b32") for each in sources)))


def _three_inputs(instruction: Instruction, sources: Sequence[Tensor]) -> Tensor:
    """Look each triple of bits up in a table of eight."""
    *values, table = sources
    a, b, c = (integers.widened(read(each, "b32")) for each in values)
    code = int(table.flatten()[0])
    result = torch.zeros_like(a | b | c)
    for row in range(8):
        if code >> row & 1:
            x, y, z = (
                value if row >> place & 1 else ~value for value, place in ((a, 2), (b, 1), (c, 0))
            )
            result = result | (x & y & z)
    return result & 0xFFFFFFFF


_FUNCTIONS: Mapping[str, Compute] = {
    **dict.fromkeys(("mul", "mad"), _product),
    **{name: _same_type(name) for name in {*_ARITHMETIC, *_LIBRARY, *_WHOLE} - {"mul", "mad"}},
    "brev": _bits("brev"),
    "clz": _bits("clz"),
    "cvt": _convert,
    "lop3": _three_inputs,
    "mov": _move,
    "popc": _bits("popc"),
    "prmt": _permute,
    "selp": _select,
    "setp": _compare,
    "shl": _shift,
    "shr": _shift,
}
NAMES = frozenset(_FUNCTIONS)
# Modifiers of the precision, and of what happens to subnormal numbers.
_WITHOUT_EFFECT = frozenset({"approx", "ftz", "full", "rn"})
_MODIFIERS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("add", "fma", "sub"), frozenset({"sat"})),
    **dict.fromkeys(("mad", "mul"), frozenset({"hi", "lo", "sat", "wide"})),
    "cvt": frozenset({"rz", "sat", *_WHOLE_NUMBERS}),
    "setp": frozenset(_COMPARISONS),
}

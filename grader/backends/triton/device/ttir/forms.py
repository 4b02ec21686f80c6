"""The generic form of each operation: operands, attributes, regions and types of a printed line.

Most operations print alike: operands, words, attributes, then types, with an arrow or `to` before
those of the results. Tables name the words of an operation, and results whose types are not the
ones that stand last. Functions, loops and a few others have readers of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lark import Token

from grader.backends.triton.device.faults import Malformed
from grader.backends.triton.device.ttir.lines import Line, RegionText, attribute, symbol
from grader.backends.triton.device.ttir.literals import dense, scalar, type_of
from grader.backends.triton.device.ttir.records import Attribute, Type

Arguments = tuple[tuple[str, Type], ...]


@dataclass(slots=True)
class Form:
    """One line in generic form. The text gives the types of some operands only, and in any order.

    `types` come before the arrow, `after` behind it; `words` are the tokens that are not attributes
    yet.
    """

    name: str
    operands: list[str] = field(default_factory=list)
    words: list[Token] = field(default_factory=list)
    attributes: dict[str, Attribute] = field(default_factory=dict)
    types: list[Type] = field(default_factory=list)
    after: list[Type] = field(default_factory=list)
    arrow: bool = False
    regions: list[tuple[RegionText, Arguments]] = field(default_factory=list)
    successors: list[tuple[str, list[str]]] = field(default_factory=list)
    location: str = ""

    def result_types(self, operand_types: Sequence[Type], count: int) -> tuple[Type, ...]:
        """Return the types of `count` results; raise Malformed if the text does not give them."""
        special = _RESULTS.get(self.name)
        if special is not None:
            return special(self, operand_types)
        printed = self.after if self.arrow else self.types
        if len(printed) == count:
            return tuple(printed)
        if not printed or (self.arrow and len(printed) > 1):
            raise Malformed(f"{count} results of {self.name}, and {len(printed)} types")
        return tuple(printed[-1:] * count)


@dataclass(frozen=True)
class FunctionForm:
    """A function's line. `body` is a region whose first block has the function's arguments."""

    name: str
    public: bool
    arguments: Arguments
    result_types: tuple[Type, ...]
    body: RegionText


def form_of(line: Line) -> Form:
    form = _by_kind(line)
    _READERS.get(line.name, _plain)(form, line)
    return form


def _by_kind(line: Line) -> Form:
    form = Form(line.name)
    key: Token | None = None  # the word before a sign =
    operands = form.operands
    for item in line.items:
        if isinstance(item, RegionText):
            form.regions.append((item, ()))
        elif not isinstance(item, Token):
            form.attributes.update(item)
        elif item.type == "SSA":
            operands.append(item[1:])
        elif item.type == "EQUALS":
            if form.words and not form.words[-1].startswith('"'):
                key = form.words[-1]
            continue
        elif key is not None:
            form.attributes[_RENAMED.get(key, str(key))] = str(item)
            form.words.pop()
        elif item.type in ("TYPE", "ELIDED"):
            (form.after if form.arrow else form.types).append(_type(item))
        elif item.type == "ARROW" or (item == "to" and form.types):
            form.arrow = True
        elif item.type == "LABEL":
            operands = []
            form.successors.append((item[1:], operands))
        elif item.type == "LOCATION":
            form.location = item
        elif item.type != "COLON":
            form.words.append(item)
        key = None
    return form


def _type(token: Token) -> Type:
    """Return a token's type: an elided one, such as `<tensor<8xf32>>`, is a pointer's."""
    return type_of(token if token.type == "TYPE" else f"!tt.ptr{token}")


def _plain(form: Form, line: Line) -> None:
    """Give the words of a line their attributes; those that no table names are flags."""
    names = _WORDS.get(form.name, ())
    for i, word in enumerate(form.words):
        value = attribute(word)
        if i < len(names):
            form.attributes[names[i]] = value
        else:
            form.attributes[str(value)] = True
    if len(form.words) < len(names):
        raise Malformed(f"{form.name} without its {names[len(form.words)]}")


def _axis_word(form: Form, line: Line) -> None:
    _plain(form, line)
    axis = str(form.attributes["axis"])
    if axis not in ("x", "y", "z"):
        raise Malformed(f"{form.name} of {axis}")
    form.attributes["axis"] = "xyz".index(axis)


def _constant(form: Form, line: Line) -> None:
    if len(form.words) != 1:
        raise Malformed("a constant without a value")
    [word] = form.words
    if not form.types:  # true and false print no type
        form.types.append(Type("i1"))
    type_ = form.types[0]
    if word.type == "DENSE":
        form.attributes["value"] = dense(word, type_)
    else:
        form.attributes["value"] = scalar(word, type_.element)


def _for(form: Form, line: Line) -> None:
    """Read `%i = %lower to %upper step %step iter_args(%carried = %initial) -> (types) : type`."""
    names, count = form.operands, len(form.operands)
    if count < 4 or count % 2 or len(form.regions) != 1:
        raise Malformed("scf.for without bounds or a body")
    induction, initial, carried = names[0], names[5::2], names[4::2]
    types = form.after or form.types
    if len(types) not in (len(initial), len(initial) + 1):
        raise Malformed(f"a loop with {len(initial)} values and {len(types)} types")
    if "unsigned" in form.words:
        form.attributes["unsignedCmp"] = True
    index = types[-1] if len(types) > len(initial) else Type("index")
    form.after, form.arrow = types[: len(initial)], True
    body, _ = form.regions[0]
    arguments = ((induction, index), *zip(carried, form.after, strict=True))
    form.regions = [(body, arguments)]
    form.operands = [*names[1:4], *initial]


def _while(form: Form, line: Line) -> None:
    """Read `(%a = %initial) : (types) -> (types)`, one region, `do` and another."""
    carried, initial = form.operands[::2], form.operands[1::2]
    if len(form.regions) != 2 or not len(carried) == len(initial) == len(form.types):
        raise Malformed("scf.while without its values or regions")
    [before, _], after = form.regions
    form.regions = [(before, tuple(zip(carried, form.types, strict=True))), after]
    form.operands = initial


def _call(form: Form, line: Line) -> None:
    if not form.words or form.words[0].type != "SYMBOL":
        raise Malformed("a call of no function")
    form.attributes["callee"] = symbol(form.words[0])


def _descriptor_store(form: Form, line: Line) -> None:
    """Put the operands in the order of the definition: the descriptor, the values, the indices."""
    _plain(form, line)
    if len(form.operands) < 2:
        raise Malformed(f"{form.name} without values")
    descriptor, *indices, source = form.operands
    form.operands = [descriptor, source, *indices]


def _scaled_dot(form: Form, line: Line) -> None:
    """Read `%a scale %s, %b scale %t, %c lhs = e4m3 rhs = e5m2`: the scales come last.

    MLIR calls the counts of operands, of which a scale may be missing, `operandSegmentSizes`.
    """
    plain: list[str] = []
    scales: dict[int, str] = {}  # of the first and the second factor
    after_scale = False
    for item in line.items:
        if isinstance(item, Token) and item.type == "SSA":
            if after_scale:
                scales[len(plain) - 1] = item[1:]
            else:
                plain.append(item[1:])
        after_scale = item == "scale"
    if len(plain) != 3 or not scales.keys() <= {0, 1}:
        raise Malformed(f"{form.name} of {len(plain)} tensors and {len(scales)} scales")
    form.operands = [*plain, *(scales[i] for i in (0, 1) if i in scales)]
    form.attributes["operandSegmentSizes"] = (1, 1, 1, int(0 in scales), int(1 in scales))


def _make_descriptor(form: Form, line: Line) -> None:
    _plain(form, line)
    if not form.types or form.types[-1].pointee is None:
        raise Malformed("a descriptor without a type")
    form.types = [replace(form.types[-1], element="tensordesc")]


def function_form(line: Line) -> FunctionForm:
    """Read a function's line; raise Malformed if it is not a function with a body."""
    names: list[str] = []
    types: list[Type] = []
    results: list[Type] = []
    words: list[Token] = []
    body, arrow = None, False
    for item in line.items:
        if isinstance(item, RegionText):
            body = item
        elif not isinstance(item, Token):
            continue  # attributes, of which none changes what a function does
        elif item.type == "SSA":
            names.append(item[1:])
        elif item.type == "TYPE":
            (results if arrow else types).append(type_of(item))
        elif item.type == "ARROW":
            arrow = True
        elif item.type in ("WORD", "SYMBOL"):
            words.append(item)
    symbols = [word for word in words if word.type == "SYMBOL"]
    if line.name != "tt.func" or body is None or len(names) != len(types) or len(symbols) != 1:
        raise Malformed(f"{line.name} where a function with a body is expected")
    return FunctionForm(
        name=symbol(symbols[0]),
        public="private" not in words,
        arguments=tuple(zip(names, types, strict=True)),
        result_types=tuple(results),
        body=body,
    )


def _first(form: Form, operand_types: Sequence[Type]) -> tuple[Type, ...]:
    if not operand_types:
        raise Malformed(f"{form.name} without operands")
    return (operand_types[0],)


def _compared(form: Form, operand_types: Sequence[Type]) -> tuple[Type, ...]:
    return (Type("i1", _first(form, operand_types)[0].shape),)


def _loaded(form: Form, operand_types: Sequence[Type]) -> tuple[Type, ...]:
    [pointer] = _first(form, operand_types)
    if pointer.pointee is None or (pointer.shape is not None and pointer.pointee.shape is not None):
        raise Malformed(f"{form.name} of {pointer.element}")
    if pointer.shape is None:
        return (pointer.pointee,)
    return (replace(pointer.pointee, shape=pointer.shape),)


_RENAMED = {
    "cacheModifier": "cache",
    "evictionPolicy": "evict",
    "lhs": "a_elem_type",
    "rhs": "b_elem_type",
}

# The attributes that are printed as words without a name, in their order.
_WORDS: Mapping[str, tuple[str, ...]] = {
    "arith.cmpf": ("predicate",),
    "arith.cmpi": ("predicate",),
    "tt.assert": ("message",),
    "tt.atomic_cas": ("sem", "scope"),
    "tt.atomic_rmw": ("atomic_rmw_op", "sem", "scope"),
    "tt.descriptor_reduce": ("kind",),
    "tt.elementwise_inline_asm": ("asm_string",),
    "tt.get_num_programs": ("axis",),
    "tt.get_program_id": ("axis",),
    "tt.print": ("prefix",),
}

# Results whose types follow from those of the operands.
_RESULTS: Mapping[str, Callable[[Form, Sequence[Type]], tuple[Type, ...]]] = {
    "arith.cmpf": _compared,
    "arith.cmpi": _compared,
    "tt.addptr": _first,
    "tt.advance": _first,
    "tt.load": _loaded,
}

_READERS: Mapping[str, Callable[[Form, Line], None]] = {
    "arith.constant": _constant,
    "scf.for": _for,
    "scf.while": _while,
    "tt.call": _call,
    "tt.descriptor_reduce": _descriptor_store,
    "tt.descriptor_store": _descriptor_store,
    "tt.dot_scaled": _scaled_dot,
    "tt.get_num_programs": _axis_word,
    "tt.get_program_id": _axis_word,
    "tt.make_tensor_descriptor": _make_descriptor,
}

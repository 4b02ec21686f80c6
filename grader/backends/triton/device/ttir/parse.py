"""From the text of a TTIR module to its records; of text that no Triton printed, Malformed.

The grammar parts the text into lines, `forms.py` gives each operation its generic form, and this
module keeps the types of names and builds the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grader.backends.triton.device.faults import Malformed
from grader.backends.triton.device.ttir import lines, locations
from grader.backends.triton.device.ttir.forms import Form, form_of, function_form
from grader.backends.triton.device.ttir.lines import BlockText, Line, RegionText
from grader.backends.triton.device.ttir.records import (
    Block,
    Function,
    Module,
    Operation,
    Region,
    Site,
    Type,
)

# A region without a terminator in the text has this one.
_IMPLIED_ENDS = {"scf.for": "scf.yield", "scf.if": "scf.yield"}


def parse(text: str) -> Module:
    """Return the module of a text; raise Malformed for one that Triton would not print."""
    body, definitions = locations.split(text)
    sites = locations.Sites(definitions)
    functions = [_function(line, sites) for line in _functions(lines.read(body))]
    module = Module({function.name: function for function in functions})
    if len(module.functions) != len(functions):
        raise Malformed("two functions have the same name")
    if sum(function.public for function in functions) != 1:
        raise Malformed("a module needs one public function")
    return module


def _functions(top: Sequence[Line]) -> tuple[Line, ...]:
    """Return the lines of a module's functions; `top` is the module's own line."""
    if len(top) == 1 and top[0].name == "module":
        for item in top[0].items:
            if isinstance(item, RegionText) and len(item.blocks) == 1:
                return item.blocks[0].lines
    raise Malformed("no module")


def _function(line: Line, sites: locations.Sites) -> Function:
    form = function_form(line)
    build = _Build(sites)
    return Function(
        name=form.name,
        arguments=form.arguments,
        result_types=form.result_types,
        body=build.region(form.body, form.arguments, ""),
        public=form.public,
    )


class _Build:
    """The types of the names that are visible where a function's records are built."""

    def __init__(self, sites: locations.Sites) -> None:
        self._sites = sites
        self._types: dict[str, Type] = {}

    def region(
        self, text: RegionText, arguments: Iterable[tuple[str, Type]], end: str = ""
    ) -> Region:
        """Build a region; `arguments` are those of its first block that stand outside of it."""
        outside = dict(self._types)
        blocks = []
        first: tuple[tuple[str, Type], ...] = tuple(arguments)
        # A branch may lead to a block that stands further down, and use what an earlier one made.
        for block in text.blocks:
            blocks.append(self._block(block, first or block.arguments, end))
            first = ()
        self._types = outside
        return Region(tuple(blocks))

    def _block(self, text: BlockText, arguments: tuple[tuple[str, Type], ...], end: str) -> Block:
        for name, type_ in arguments:
            self._types[name] = type_
        operations = [self._operation(line) for line in text.lines]
        if end and not (operations and operations[-1].name == end):
            operations.append(Operation(end))
        if not operations:
            raise Malformed(f"the block {text.label} is empty")
        return Block(text.label, arguments, tuple(operations))

    def _operation(self, line: Line) -> Operation:
        form = form_of(line)
        operand_types = self._types_of(form)
        results = form.result_types(operand_types, len(line.results))
        if len(results) != len(line.results):
            raise Malformed(f"{len(line.results)} results of {line.name}, which has {len(results)}")
        regions = tuple(
            self.region(text, arguments, _IMPLIED_ENDS.get(line.name, ""))
            for text, arguments in form.regions
        )
        for name, type_ in zip(line.results, results, strict=True):
            self._types[name] = type_
        return Operation(
            name=line.name,
            results=line.results,
            operands=tuple(form.operands),
            attributes=form.attributes,
            operand_types=operand_types,
            result_types=results,
            regions=regions,
            successors=tuple((label, tuple(names)) for label, names in form.successors),
            site=self._sites.of(form.location) if form.location else Site(),
        )

    def _types_of(self, form: Form) -> tuple[Type, ...]:
        """Return the types of a line's operands; raise Malformed for a name that none made."""
        try:
            return tuple([self._types[name] for name in form.operands])
        except KeyError as error:
            raise Malformed(f"%{error.args[0]} has no value") from None

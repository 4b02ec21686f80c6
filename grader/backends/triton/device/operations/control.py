"""Program ids, loops, branches and calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from grader.backends.triton.device.access import Loops
from grader.backends.triton.device.faults import Deadlock, Malformed, NotSimulated
from grader.backends.triton.device.operations import Operands, Results, operation
from grader.backends.triton.device.run import Run
from grader.backends.triton.device.ttir.records import Operation
from grader.backends.triton.device.turns import equal
from grader.backends.triton.device.values import Value, agreed, dtype_of, merged, taken

LOOKS = 256  # turns of a loop between two looks at whether it can end


@operation("tt.get_program_id")
def get_program_id(op: Operation, operands: Operands, run: Run) -> Value:
    x, y, z = run.launch.grid
    axis = _axis(op)
    if (x, y, z)[axis] == 1:
        return torch.zeros(1, dtype=torch.int32)
    before = (1, x, x * y)[axis]
    place = run.programs // before if before > 1 else run.programs
    outer = z if axis == 1 else y * z
    if axis < 2 and outer > 1:
        place = place % (x, y, z)[axis]
    return place.to(torch.int32)


@operation("tt.get_num_programs")
def get_num_programs(op: Operation, operands: Operands, run: Run) -> Value:
    return torch.tensor([run.launch.grid[_axis(op)]], dtype=torch.int32)


def _axis(op: Operation) -> int:
    axis = op.attributes["axis"]
    if axis not in (0, 1, 2):
        raise Malformed(f"{op.name} has the axis {axis}")
    return int(axis)


@operation("tt.call")
def call(op: Operation, operands: Operands, run: Run) -> Results:
    functions = run.launch.program.module.functions
    name = str(op.attributes["callee"])
    if name not in functions:
        raise Malformed(f"no function {name}")
    return tuple(run.call(functions[name], operands))


@operation("scf.if")
def if_(op: Operation, operands: Operands, run: Run) -> Results:
    condition = operands[0]
    everywhere = agreed(condition)
    if everywhere is not None:
        return _branch(op, run, bool(everywhere))
    parts: list[tuple[Tensor, Sequence[Value]]] = []
    for taken_branch, side in ((True, condition), (False, ~condition)):
        rows = side.nonzero().flatten()
        parts.append((rows, _branch(op, run.narrowed(rows), taken_branch)))
    return _merged(parts, run.count)


def _branch(op: Operation, run: Run, condition: bool) -> tuple[Value, ...]:
    place = 0 if condition else 1
    if place == 1 and (len(op.regions) == 1 or not op.regions[1].blocks):
        return ()
    return tuple(run.region(op.regions[place], ()))


def _merged(parts: Sequence[tuple[Tensor, Sequence[Value]]], count: int) -> tuple[Value, ...]:
    return tuple(
        merged([(rows, values[i]) for rows, values in parts], count)
        for i in range(len(parts[0][1]))
    )


@dataclass
class _Loop:
    """The programs that are still in a loop, and the values with which others left it."""

    outside: Run
    carried: Sequence[Value]
    run: Run = field(init=False)
    loops: Loops = field(init=False)  # around it
    rows: Tensor | None = None  # None: all
    left: list[tuple[Tensor, Sequence[Value]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.run, self.loops = self.outside, self.outside.loops

    def enter(self, op: Operation, turn: int) -> None:
        self.run.loops = (*self.loops, (op.site, turn))

    def places(self) -> Tensor:
        return torch.arange(self.outside.count) if self.rows is None else self.rows

    def keep(self, going: Tensor) -> None:
        """Go on with the programs for which `going` is true; the others leave."""
        places = self.places()
        done, stay = (~going).nonzero().flatten(), going.nonzero().flatten()
        self.left.append((places[done], [taken(value, done) for value in self.carried]))
        self.carried = [taken(value, stay) for value in self.carried]
        self.rows = places[stay]
        self.run = self.outside.narrowed(self.rows)

    def results(self) -> tuple[Value, ...]:
        """Return the values with which the programs leave, those that are still in it last."""
        self.outside.loops = self.loops
        if self.rows is None:
            return tuple(self.carried)
        return _merged([*self.left, (self.rows, self.carried)], self.outside.count)


@operation("scf.for")
def for_(op: Operation, operands: Operands, run: Run) -> Results:
    if op.attributes.get("unsignedCmp"):
        raise NotSimulated("a loop with unsigned bounds")
    lower, upper, step = operands[:3]
    bounds = [agreed(bound) for bound in (lower, upper, step)]
    if all(bound is not None for bound in bounds):
        first, last, stride = (int(bound or 0) for bound in bounds)
        turns = range(first, last, _stride(stride, first < last))
        return _uniform_for(op, operands[3:], run, turns)
    return _parting_for(op, operands, run)


def _at(value: Tensor, rows: Tensor | None) -> Tensor:
    return value if rows is None or value.shape[0] == 1 else value[rows]


def _stride(stride: int, enters: bool) -> int:
    if stride <= 0 and enters:
        raise Deadlock(f"this loop never ends: its step is {stride}")
    return max(stride, 1)


def _uniform_for(op: Operation, carried: Sequence[Value], run: Run, turns: range) -> Results:
    dtype = dtype_of(op.operand_types[0])
    values: Sequence[Value] = carried
    outer = run.loops
    for number, turn in enumerate(turns):
        run.loops = (*outer, (op.site, number))
        values = run.region(op.regions[0], [torch.tensor([turn], dtype=dtype), *values])
    run.loops = outer
    return tuple(values)


def _parting_for(op: Operation, operands: Operands, run: Run) -> Results:
    """Execute a loop whose bounds differ from program to program."""
    lower, upper, step = (each.to(torch.int64) for each in operands[:3])
    enters = lower < upper
    _stride(int(torch.where(enters, step, 1).min()), True)
    counts = torch.where(enters, (upper - lower + step - 1) // step.clamp(min=1), 0)
    counts = counts.expand(run.count)
    loop = _Loop(run, operands[3:])
    dtype = dtype_of(op.operand_types[0])
    turn = 0
    while True:
        here = counts if loop.rows is None else counts[loop.rows]
        least, most = (int(each) for each in here.aminmax())
        if most <= turn:
            return loop.results()
        if least <= turn:
            loop.keep(here > turn)
            continue
        first, stride = _at(lower, loop.rows), _at(step, loop.rows)
        while turn < least:
            induction = (first + stride * turn).to(dtype)
            loop.enter(op, turn)
            loop.carried = loop.run.region(op.regions[0], [induction, *loop.carried])
            turn += 1


@operation("scf.while")
def while_(op: Operation, operands: Operands, run: Run) -> Results:
    before, after = op.regions
    turns = run.turns if id(op) in run.launch.program.waiting_loops else None
    loop = _Loop(run, operands)
    turn = 0
    while True:
        loop.enter(op, turn)
        entered, changes = loop.carried, run.memory.changes
        condition, *loop.carried = loop.run.region(before, loop.carried)
        assert isinstance(condition, Tensor)
        going = agreed(condition)
        if going is False:
            if turns is not None:
                turns.leave()
            return loop.results()
        if going is None:
            loop.keep(condition)
        if turns is not None:
            turns.wait(op, loop.carried)
        loop.carried = loop.run.region(after, loop.carried)
        if turns is None and turn % LOOKS == 0 and changes == run.memory.changes:
            _must_change(entered, loop.carried)
        turn += 1


def _must_change(before: Sequence[Value], after: Sequence[Value]) -> None:
    """Raise Deadlock if a turn of a loop that all programs are in has changed nothing.

    No other program runs meanwhile, so each further turn would be the same.
    """
    if len(before) == len(after) and equal(before, after):
        raise Deadlock("this loop never ends: a turn of it changes no variable and no memory")


@operation("gpu.barrier", "ttg.barrier", "llvm.intr.assume")
def nothing(op: Operation, operands: Operands, run: Run) -> None:
    """Do nothing: programs run in step, there are no warps, and only compilers use assumptions."""

"""One launch: its programs, the groups in which they execute together, and the values they have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

from grader.backends.triton.device.access import Loops
from grader.backends.triton.device.blocks import run_blocks
from grader.backends.triton.device.effort import Effort
from grader.backends.triton.device.faults import Fault, Malformed, NotSimulated, is_out_of_memory
from grader.backends.triton.device.memory import Memory
from grader.backends.triton.device.plan import BlockPlan, Program
from grader.backends.triton.device.printed import Printed
from grader.backends.triton.device.ttir.records import Function, Operation, Region
from grader.backends.triton.device.turns import Turns
from grader.backends.triton.device.values import Value, taken

# Programs execute together in chunks. Above the first limit a launch might need more memory than
# the machine has; above the second its arrays leave the processor's caches. Far below it, what an
# operation costs beside its elements, some 10 µs, takes most of the time.
CHUNK_BYTES = 1 << 30
CHUNK_ELEMENTS = 1 << 19

MOST_CALLS = 32

# CUDA C++ Programming Guide, technical specifications of compute capability 9.0; an H100 SXM.
PROCESSORS = 132
BLOCKS_PER_PROCESSOR = 32
WARPS_PER_PROCESSOR = 64


@dataclass(frozen=True)
class Launch:
    """A program, its grid and its memory.

    `backwards` executes the programs in reverse order, as a GPU may.
    """

    program: Program
    grid: tuple[int, int, int]
    memory: Memory
    warps: int = 4
    backwards: bool = False
    printed: Printed = field(default_factory=Printed)
    effort: Effort = field(default_factory=Effort)

    @property
    def programs(self) -> int:
        x, y, z = self.grid
        return x * y * z

    @property
    def resident(self) -> int:
        """The programs that an H100 holds at once, if registers and shared memory allow it."""
        return PROCESSORS * min(BLOCKS_PER_PROCESSOR, WARPS_PER_PROCESSOR // self.warps)


class Environment(dict[str, Value]):
    """The values of names in a group of programs.

    A group that was narrowed takes its rows of an outer value when it is first asked for.
    """

    def __init__(self, outer: Environment | None = None, rows: Tensor | None = None) -> None:
        super().__init__()
        self._outer, self._rows = outer, rows

    def __missing__(self, name: str) -> Value:
        if self._outer is None:
            raise Malformed(f"%{name} has no value")
        value = self._outer[name]
        if self._rows is not None:
            value = taken(value, self._rows)
        self[name] = value
        return value

    def find(self, name: str) -> Value | None:
        """Return a value, or None where the name has none (yet)."""
        environment: Environment | None = self
        while environment is not None and name not in environment:
            environment = environment._outer
        return None if environment is None else self[name]


class Run:
    """A group of programs that execute the same operations at the same time."""

    def __init__(
        self,
        launch: Launch,
        programs: Tensor,
        values: Environment | None = None,
        turns: Turns | None = None,
        depth: int = 0,
        loops: Loops = (),
    ) -> None:
        self.launch = launch
        self.memory = launch.memory
        self.programs = programs
        self.count = programs.shape[0]
        self.values = Environment() if values is None else values
        self.turns = turns
        self.depth = depth
        self.loops = loops

    def narrowed(self, rows: Tensor) -> Run:
        """Return the run of the programs at `rows` alone, which sees the values of this one.

        A row may come several times: a region of a reduction runs for each lane.
        """
        values = Environment(self.values, rows)
        return Run(self.launch, self.programs[rows], values, self.turns, self.depth, self.loops)

    def separate(self, programs: Tensor) -> Run:
        """Return a run of other programs of the launch that has no values yet."""
        return Run(self.launch, programs, None, self.turns, self.depth, self.loops)

    def blocks(self, region: Region) -> tuple[BlockPlan, ...]:
        return self.launch.program.blocks(region)

    def region(self, region: Region, arguments: Sequence[Value]) -> list[Value]:
        """Execute a region, and return the operands of its last operation."""
        plans = self.blocks(region)
        return (
            self.block(plans[0], arguments)
            if len(plans) == 1
            else run_blocks(self, plans, arguments)
        )

    def block(self, plan: BlockPlan, arguments: Sequence[Value]) -> list[Value]:
        """Execute a block; return the operands of its last operation, and forget its values."""
        self.steps(plan, arguments)
        values = self.values
        results = [values[name] for name in plan.end.operands]
        for name in plan.dead:
            values.pop(name, None)
        return results

    def steps(self, plan: BlockPlan, arguments: Sequence[Value]) -> None:
        """Execute a block but for its last operation."""
        self.launch.effort.spend(len(plan.steps) + 1)
        values = self.values
        values.update(zip(plan.arguments, arguments, strict=True))
        values.update(plan.constants)
        for step in plan.steps:
            op = step.operation
            try:
                result = step.function(op, [values[name] for name in op.operands], self)
                if isinstance(result, tuple):
                    values.update(zip(op.results, result, strict=True))
                elif result is not None:
                    values[op.results[0]] = result
            except Fault as fault:
                fault.site = fault.site or op.site
                raise
            except Exception as error:
                if is_out_of_memory(error):
                    raise
                raise _unlike_triton(op, error) from error
            for name in step.dead:
                values.pop(name, None)

    def call(self, function: Function, arguments: Sequence[Value]) -> list[Value]:
        """Execute a function of the module; raise Malformed if calls nest too deep."""
        if self.depth >= MOST_CALLS:
            raise Malformed(f"calls nest more than {MOST_CALLS} deep")
        inner = Run(self.launch, self.programs, None, self.turns, self.depth + 1, self.loops)
        inner.values.update(zip((name for name, _ in function.arguments), arguments, strict=True))
        return inner.region(function.body, arguments)


def _unlike_triton(op: Operation, error: Exception) -> NotSimulated:
    """Return an error in an operation as a fault.

    It is text that Triton does not make, or an operation that lacks something here: neither passes,
    and neither is known to be the learner's fault.
    """
    return NotSimulated(f"this form of {op.name} ({type(error).__name__}: {error})", op.site)


def execute(launch: Launch, arguments: Sequence[Value]) -> None:
    """Execute all programs of a launch; raise the Fault that ended it."""
    program = launch.program
    program.check()
    with torch.inference_mode():
        if program.waiting_loops:
            _take_turns(launch, arguments)
            return
        for programs in _chunks(launch):
            Run(launch, programs).call(program.module.entry, arguments)


def _take_turns(launch: Launch, arguments: Sequence[Value]) -> None:
    """Execute the programs in turns, since one may wait for another."""
    turns = Turns(lambda: launch.memory.changes)
    entry = launch.program.module.entry
    programs = range(launch.programs)
    runs = [
        Run(launch, torch.tensor([program]), turns=turns)
        for program in (reversed(programs) if launch.backwards else programs)
    ]
    # Many kernels rely on the order in which a GPU starts programs; backwards, all must be there.
    resident = len(runs) if launch.backwards else launch.resident
    turns.run([partial(run.call, entry, arguments) for run in runs], resident)


def _chunks(launch: Launch) -> Iterator[Tensor]:
    size = max(
        1,
        min(
            CHUNK_BYTES // max(1, launch.program.bytes_per_program),
            CHUNK_ELEMENTS // launch.program.largest,
        ),
    )
    starts = range(0, launch.programs, size)
    for start in reversed(starts) if launch.backwards else starts:
        programs = torch.arange(start, min(start + size, launch.programs))
        # Addresses that grow are faster to check and to reach.
        yield programs.flip(0) if launch.backwards and launch.program.shows_order else programs

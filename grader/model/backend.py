"""A backend, a language that kernels are written in, as plain data that every room can read.

`grader.backends` finds them: each is a folder with a `BACKEND` in its `__init__.py`, and adding the
folder registers it. Steps, pictures, mutants and doctor ask what a backend can do, and never which
one it is. The modules of a backend run beside a submission, and only workers import them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Abilities:
    """Abilities of a backend that a step, a picture or a command may need.

    `simulate`: run kernels on the CPU. `count_traffic`: count in simulation how often each element
    of an argument is read and written. `trace_threads`: record in simulation each access of each
    thread. `trace_lanes`: the same of each lane of a program that works on blocks.
    `record_launches`: record the launches of a call on a GPU, so that hardware counters can count
    them where no simulator does. `compile_without_gpu`: compile for a GPU that is not there.
    `dry_run`: all that simulation does is to compile kernels and to note their launches, so that a
    check without a GPU grades nothing but errors. `tune`: try forms of a kernel at its first call,
    so that the call that is counted comes after another one.
    """

    simulate: bool = False
    count_traffic: bool = False
    trace_threads: bool = False
    trace_lanes: bool = False
    record_launches: bool = False
    compile_without_gpu: bool = False
    dry_run: bool = False
    tune: bool = False

    def __post_init__(self) -> None:
        if not self.simulate and (self.count_traffic or self.trace_threads or self.trace_lanes):
            raise ValueError("counts and traces come from simulation: set simulate=True")
        if self.dry_run and not (self.simulate and self.compile_without_gpu):
            raise ValueError("a dry run compiles: set simulate=True and compile_without_gpu=True")

    @property
    def compute_without_gpu(self) -> bool:
        return self.simulate and not self.dry_run


@dataclass(frozen=True, kw_only=True)
class Package:
    """A package that grading needs, the versions that the tests ran with, and pyproject's range.

    `gpu` packages are of no use without a GPU. `field` is the field of a result's environment that
    holds the installed version, if it has one.
    """

    name: str
    tested: tuple[str, ...]
    needs: str
    gpu: bool = False
    field: str | None = None


@dataclass(frozen=True)
class Clash:
    """Versions of two packages that are known not to work together."""

    package: str
    versions: str
    other: str
    other_versions: str
    why: str
    fix: str


@dataclass(frozen=True)
class Advice:
    """A hint, and the cause that it is for: the stable word that results have (`Failure.cause`)."""

    cause: str
    text: str


ROUNDED_UP = "(n + BLOCK - 1) // BLOCK"  # in any language


@dataclass(frozen=True, kw_only=True)
class Hints:
    """Advice in the words of one library.

    `reached` asks about elements that were never written. `faster` and `more_warps` are clauses:
    one for a slow kernel, one for a kernel of which too few warps fit. `faults` maps a kind of
    failure to a hint. `messages` maps a kind, and a part of the failure's message, to a closer
    hint, or to `Advice` where the message names the cause. `rounded_up` is an expression: how many
    blocks of BLOCK hold n elements.
    """

    reached: str
    faster: str
    more_warps: str
    faults: Mapping[str, str] = field(default_factory=dict)
    messages: Mapping[str, Mapping[str, str | Advice]] = field(default_factory=dict)
    rounded_up: str = ROUNDED_UP


@dataclass(frozen=True)
class Trial:
    """A kernel file of the backend's folder that adds two float32 arrays: `entry(a, b, out)`."""

    file: str
    entry: str


@dataclass(frozen=True, kw_only=True)
class Backend:
    """A language that kernels are written in.

    `name` is that of its folder. `decorator` makes a function a kernel, as learners write it, and
    `modules` are the top-level modules that a kernel file imports. `dtypes` and `scalars` are those
    that a kernel takes. `variables` are set for every worker, with `{home}` for its private folder;
    `simulation` are set where kernels are simulated, before any import. An entry receives torch's
    tensors with `takes_tensors`, else arrays of the library.

    `simulated` and `compiled` are modules of the folder. Each defines `install()`, which prepares a
    process and returns the parts of a `grader.worker.kernels.Kernels`. Walls rise after it, so it
    imports everything that its kernels need. Either may define `preload()`, which loads what a
    first launch would, and returns None or the reason why it could not. `compiled` is None for a
    language without a compiler.

    With the ability `dry_run`, launches of `simulated` do nothing and are noted for the `compiler`.
    Waiting for them raises `NotSimulated`, but not where the judge withholds launches.

    `counts` are the values of `Budget.count` that simulation counts.

    `device` is a module for simulation, or None where the worker itself simulates. It defines
    `serve(judge, worker, arena, scratch)`: the work of a process of the judge's beside each worker,
    which carries out what the kernel file launches and counts it out of the file's reach.
    `install()` of `simulated` then returns a function of a `grader.worker.device_link.DeviceLink`.

    `compiler` is a module that compiles the texts of `Specialisation`s, or None. A device sends
    them, or else the worker, whose class then has `launched()`. The judge runs the module as
    `python -I -m`, with a private folder, the seconds for all texts, and the walls to leave out;
    `grader.worker.compile_jobs` says what lies there. `compiler_needs` maps each tool that may be
    missing to the arguments of `pip install` that bring it. With `compiler_optional`, the default
    installation lacks one. `extra` is the grader's own without which no kernel of it is graded.

    `plain_call` defines `install()`, which returns a function from a CUDA tensor to an argument;
    NVIDIA's tools watch such calls. `lint` holds `NAMES`, a `SourceNames`. `reference_kernels` is a
    kernel file. Its `stream(reads, writes, *tensors)` reads the first `reads` tensors, writes the
    next `writes`, and updates the others in place. Its `product_DTYPE(edge)` multiplies square
    matrices.
    """

    name: str
    title: str
    decorator: str
    modules: tuple[str, ...]
    packages: tuple[Package, ...]
    can: Abilities
    dtypes: tuple[str, ...]
    hints: Hints
    trial: Trial
    clashes: tuple[Clash, ...] = ()
    extra: str | None = None
    scalars: tuple[str, ...] = ("float",)
    counts: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    simulation: Mapping[str, str] = field(default_factory=dict)
    takes_tensors: bool = True
    needs_c_compiler: bool = False
    simulated: str = "simulated"
    device: str | None = None
    compiled: str | None = "compiled"
    compiler: str | None = None
    compiler_needs: Mapping[str, str] = field(default_factory=dict)
    compiler_optional: bool = False
    plain_call: str = "plain_call"
    lint: str = "lint"
    reference_kernels: str | None = None

    def environment(self, home: Path, *, simulated: bool) -> dict[str, str]:
        values = {name: text.format(home=home) for name, text in self.variables.items()}
        return values | dict(self.simulation if simulated else {})


@dataclass(frozen=True, kw_only=True)
class ThreadNames:
    """Names in a language whose kernels are written for one thread: its index, and barriers.

    With `wide_literals` a number such as 0.0 has 64 bits, and so has all that is added to it.
    """

    indices: frozenset[str]
    barriers: frozenset[str]
    wide_literals: bool = False


@dataclass(frozen=True, kw_only=True)
class BlockNames:
    """Names in a language whose kernels are written for a block of elements.

    `lanes` makes the offsets of a block, `program` its number in 32 bits. `wide` are types of 64
    bits. A loop runs over one of `ranges`. One of `clamps` keeps an offset inside.
    """

    load: str
    store: str
    lanes: str
    program: str
    wide: frozenset[str]
    ranges: frozenset[str]
    reductions: frozenset[str]
    clamps: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class SourceNames:
    """Dotted names of a library by which `grader lint` and the mutants read a kernel file.

    `kernels` make a function a kernel. `wrappers` return the function that they receive. Files may
    assign to `settings`. `launchers` are functions that launch a kernel, where its language has no
    `kernel[grid](...)`. `compilers` compile C++ that a file holds as text. `ready_made` holds
    kernels of the library's own. `half` is the text that rounds `{value}` to float16.
    """

    kernels: frozenset[str]
    half: str
    wrappers: frozenset[str] = frozenset()
    launchers: frozenset[str] = frozenset()
    compilers: frozenset[str] = frozenset()
    tensors: frozenset[str] = frozenset()
    settings: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    native: tuple[str, ...] = ()
    clocks: tuple[str, ...] = ()
    ready_made: tuple[str, ...] = ()
    threads: ThreadNames | None = None
    blocks: BlockNames | None = None

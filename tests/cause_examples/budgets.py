"""Right results that cost too much: what the counts say, and what the text of the file shows."""

from __future__ import annotations

from evidences import refused, spec_of

from cause_examples.example import Example, Make, near, shown
from grader.model import Failure, Frame

SPEC = spec_of(lambda i: {"out": i["x"] * 1.0}, "x")
NUMBA = "@cuda.jit"


def over(
    kind: str, message: str, text: str, line: int = 0, *, triton: bool = False, **more: str
) -> Make:
    """Return a failure of a file, at a line if the count names one."""
    frames = (Frame(line=line, function="", code=""),) if line else ()
    failure = Failure(kind=kind, message=message, frames=frames, hint="Do less.", **more)
    decorator = "@triton.jit" if triton else NUMBA
    return lambda: refused(failure, text, SPEC, decorator, threads=not triton)


READS = "the busiest thread reads global memory 12 times, where once is enough"
LOOP = "for i in range(3):"
FIRST = """@cuda.jit
def kernel(x, out):
    t = cuda.threadIdx.x
    if {test}:
        {first}
            out[0] += x[i]
    for i in range(2):
        out[t] += x[i]

def run(x, out):
    {launch}
"""


def first(test: str, inside: str = LOOP, launch: str = "kernel[2, 8](x, out)") -> str:
    return FIRST.format(test=test, first=inside, launch=launch)


COUNTS = """@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    {offsets}
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x, mask=i < n)

def run(x, out):
    kernel[(x.numel(),)](x, out, x.numel(), BLOCK=64)
"""
PROGRAMS = "100 programs in all, where 4 are enough"


def programs(message: str, offsets: str) -> Make:
    return over("counts", message, COUNTS.format(offsets=offsets), triton=True)


HELPED = """@triton.jit
def kernel(x_ptr, out_ptr, n):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)

def programs_for(n):
    return {programs}

def run(x, out):
    kernel[(programs_for(x.numel()),)](x, out, x.numel())
"""


def helped(number: str) -> Make:
    return over("counts", PROGRAMS, HELPED.format(programs=number), triton=True)


ALL = """@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    for start in range({first}, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)

def run(x, out):
    programs = triton.cdiv(x.numel(), 64)
    kernel[({grid},)](x, out, x.numel(), BLOCK=64)
"""
READ_TWICE = "every element of x is read 2 times on average"


def all_of_it(first: str, grid: str) -> Make:
    return over("traffic", READ_TWICE, ALL.format(first=first, grid=grid), triton=True)


HOST = """@triton.jit
def kernel(x_ptr, out_ptr):
    tl.store(out_ptr, tl.load(x_ptr))

def helper(x, out):
    {inside}

def run(x, out):
    n = out.numel()
    {line}
"""


def host(kind: str, line: str, inside: str = "return 3") -> Make:
    return over(kind, "one call holds much", HOST.format(line=line, inside=inside), triton=True)


SHOWN: dict[str, tuple[str, Make] | tuple[str, Make, int]] = {
    "a thread's own loop": ("one_thread", over("counts", READS, first("t == 0"), 6), 4),
    "a thread's loop in a branch of two": (
        "one_thread", over("counts", READS, first("cuda.threadIdx.x == 0 and t < 3")), 4),
    "a lane of each warp": ("one_thread", over("counts", READS, first("t % 32 == 0")), 4),
    "a launch of one thread": (
        "one_thread", over("counts", READS, first("x[0] < 0", "pass\n    if t:\n        if t:",
                                                  "kernel[1, 1](x, out)")), 13),
    "a program for each element": ("small_block", programs(PROGRAMS, "i = tl.program_id(0)"), 3),
    "blocks of one": (
        "small_block", programs(PROGRAMS, "i = tl.program_id(0) + tl.arange(0, 1)"), 3),
    "a program for each element of blocks": ("small_block", helped("n"), 7),
    "an input is read twice": ("repeated_access", over(
        "traffic", "every element of x is read 2 times on average",
        first("t < 0", "for j in range(1):")), 8),
    "programs without a number": (
        "repeated_access program_id_unused", all_of_it("0", "programs"), 5),
    "a thread's counts": ("repeated_access", over("counts", READS, first("t < 0"), 8), 8),
    "pieces of memory": ("repeated_access uncoalesced", over(
        "counts", "32 threads of a warp touch 32 separate 32-byte pieces of memory at once: "
        "64 transactions in all, where 8 are enough", first("t < 0"), 8), 8),
    "no shuffle": ("repeated_access no_shuffle", over(
        "counts", "the busiest thread reads shared memory 3 times, where none is needed",
        first("t < 0"), expected="none")),
    "a copy of the input": ("scratch_memory", host("memory", "y = torch.empty_like(x)"), 10),
    "a copy in another type": ("scratch_memory", host("memory", "y = x.float()"), 10),
    "an expression of tensors": ("scratch_memory", host("memory", "y = x + out"), 10),
    "scratch beside one of a fixed size": ("scratch_memory", host(
        "memory", "one = torch.zeros(1); y = torch.empty(n); kernel[(1,)](one, y)")),
    "torch fills": ("nothing_on_the_gpu no_launch", host("no_kernel", "out.copy_(x)"), 10),
    "a slice is filled": ("nothing_on_the_gpu no_launch", host("no_kernel", "out[:] = x"), 10),
    "torch fills by out=": (
        "nothing_on_the_gpu no_launch", host("no_kernel", "torch.add(x, x, out=out)"), 10),
}  # fmt: skip
# Near misses of one branch of a detector that explains them all the same.
NUMBERED = {
    "a loop that begins at the number": (
        "repeated_access", all_of_it("tl.program_id(0)", "programs"), 5),
    "one program reads twice": ("repeated_access", all_of_it("0", "1"), 5),
}  # fmt: skip
NEAR: dict[str, tuple[str, Make]] = {
    "a value that is 0": ("one_thread", over("counts", READS, first("x[t] == 0"), 6)),
    "a loop of all threads beside that of one": (
        "one_thread", over("counts", READS, first("t == 0"), 8)),
    "one thread stores": (
        "one_thread", over("counts", READS, first("t == 0", "if t < 3:"))),
    "one thread of two launches": ("one_thread", over(
        "counts", READS, first("t < 0", launch="kernel[2, 8](x, out)\n    kernel[1, 1](x, out)"))),
    "one program of many lanes": ("one_thread", over(
        "traffic", "every element of x is read 2 times on average",
        COUNTS.format(offsets="i = tl.arange(0, BLOCK)").replace("(x.numel(),)", "(1, 1)"),
        triton=True)),
    "too many programs of a block": (
        "small_block", programs(PROGRAMS, "i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)")),
    "programs of half a block": ("small_block", helped("triton.cdiv(n, 32)")),
    "loads of one element": ("small_block", programs(
        "the busiest program loads 8 times, where once is enough", "i = tl.program_id(0)")),
    "barriers": ("repeated_access", over(
        "counts", "the busiest thread waits at 9 barriers, where 2 are enough", first("t < 0"))),
    "programs": ("repeated_access", programs(PROGRAMS, "i = tl.program_id(0)")),
    "no memory is taken": ("scratch_memory", host("memory", "k = float(n); kernel[(1,)](x, out)")),
    "memory of a fixed size": ("scratch_memory", host("memory", "y = torch.zeros((2, 3))")),
    "a length is taken": ("nothing_on_the_gpu", host("no_kernel", "m = out.shape[0]")),
    "an output is printed": ("nothing_on_the_gpu", host("no_kernel", "print(out)")),
    "a kernel is launched": ("nothing_on_the_gpu", host(
        "no_kernel", "out.copy_(x); kernel[(1,)](x, out)")),
}  # fmt: skip
EXAMPLES: dict[str, Example] = shown(SHOWN | NUMBERED) | near(NEAR)

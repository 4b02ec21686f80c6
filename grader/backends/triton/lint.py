"""Names of Triton in kernel files, for `grader lint` and the mutants."""

from __future__ import annotations

from grader.model import BlockNames, SourceNames

_JIT = frozenset({"triton.jit", "triton.runtime.jit.jit"})
_TL = "triton.language"
_REDUCTIONS = ("sum", "max", "min", "argmax", "argmin", "reduce", "xor_sum")

NAMES = SourceNames(
    kernels=_JIT,
    half="({value}).to(tl.float16)",
    wrappers=_JIT | {"triton.autotune", "triton.heuristics"},
    settings=("triton.knobs",),
    clocks=("triton.testing",),
    ready_made=("triton.ops",),
    blocks=BlockNames(
        load=f"{_TL}.load",
        store=f"{_TL}.store",
        lanes=f"{_TL}.arange",
        program=f"{_TL}.program_id",
        wide=frozenset({f"{_TL}.int64", f"{_TL}.uint64"}),
        ranges=frozenset({"builtins.range", f"{_TL}.range"}),
        reductions=frozenset(f"{_TL}.{name}" for name in _REDUCTIONS),
        clamps=frozenset(f"{_TL}.{name}" for name in ("minimum", "where", "clamp")),
    ),
)

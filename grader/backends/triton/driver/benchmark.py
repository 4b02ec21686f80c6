"""Benchmarks on a device without a clock: each candidate runs once, and all take as long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from grader.backends.triton.driver.launcher import Line

MILLISECONDS = 1.0


def benchmark_of(line: Line) -> Callable[..., Any]:
    """Return a function in the place of `triton.testing.do_bench`.

    Autotuning takes the first of equal times: the first configuration that compiles. Every one of
    them is compiled, as on a GPU, so that one that cannot be is found here.
    """

    def do_bench(
        fn: Callable[[], object],
        warmup: int = 25,
        rep: int = 100,
        grad_to_none: Sequence[Any] | None = None,
        quantiles: Sequence[float] | None = None,
        return_mode: str = "mean",
    ) -> float | list[float]:
        assert return_mode in ["min", "max", "mean", "median", "all"]
        with line.trying():
            fn()
        if quantiles is not None:
            return [MILLISECONDS] * len(quantiles) if len(quantiles) > 1 else MILLISECONDS
        return [MILLISECONDS] if return_mode == "all" else MILLISECONDS

    return do_bench

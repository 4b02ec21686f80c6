"""The libraries that a result's environment names, and their versions."""

from __future__ import annotations

from collections.abc import Iterator

from grader import backends
from grader.model import Environment


def libraries(environment: Environment) -> Iterator[tuple[str, str]]:
    if environment.torch:
        yield "torch", environment.torch
    for backend in backends.every():
        for package in backend.packages:
            if package.field and (version := getattr(environment, package.field, None)):
                yield package.name, version

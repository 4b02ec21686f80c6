"""What the simulators' adapters share: saying that an installed version does not fit."""

from __future__ import annotations

from grader.model import CannotGrade


def require(owner: object, *names: str, found: str, known: str) -> None:
    """Raise CannotGrade unless `owner`, a module or class, has every attribute in `names`.

    `found` is the library with its installed version, `known` the versions that are known to fit.
    """
    missing = [name for name in names if not hasattr(owner, name)]
    if missing:
        whole = getattr(owner, "__name__", type(owner).__name__)
        raise CannotGrade(
            f"{found} does not fit: its simulator has no {whole}.{missing[0]}",
            next_step=f"Install a version that is known to work: {known}.",
        )

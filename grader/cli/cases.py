"""The case that `--case` names, held to its exercise and to what a machine can do."""

from __future__ import annotations

from grader.course import Exercise
from grader.grading import CHECK_ARENA
from grader.model import ITEMSIZE, CannotGrade, Case, Spec, UsageError, counted, texts

# Simulated, a check of a case of so many elements takes about a second: in a language of threads so
# many times `most_elements`, in one of blocks this number.
SIMULATED = 32
SIMULATED_IN_BLOCKS = 2**20


def case_of(exercise: Exercise, text: str, device: str) -> Case:
    """Read the case of an exercise. Raises UsageError for one that no device takes.

    Raises CannotGrade for one that would take minutes on `device` (auto, cpu or cuda).
    """
    spec = exercise.spec
    option = f"--case {texts.cut(repr(text), 60)}"
    example = f"A case of {exercise.name} looks like '{spec.edges[0]}'."
    try:
        case = Case.parse(text)
    except ValueError as error:
        if shaped := _with_dtype(spec, text):
            fault = _fault(spec, shaped)
            step = example if fault else f"Type --case '{shaped}'."
            raise UsageError(f"{option}{fault or ' lacks the dtype'}.", step) from None
        raise UsageError(f"{option}: {texts.cut(str(error), 300)}.", example) from None
    if fault := _fault(spec, case):
        raise UsageError(f"{option}{fault}.", example)
    if _is_simulated(device):
        _require_few_elements(spec, case, option)
    return case


def _with_dtype(spec: Spec, text: str) -> Case | None:
    """Read a bare shape as a case, or return None where more than a dtype is missing."""
    try:
        return Case.parse(f"{text.rstrip(', ')},{spec.dtypes[0]}")
    except ValueError:
        return None


def _is_simulated(device: str) -> bool:
    from grader.machine import has_driver  # it loads what `grader list` must do without

    return device == "cpu" or (device == "auto" and not has_driver())


def _fault(spec: Spec, case: Case) -> str | None:
    if len(case.shape) != len(spec.largest):
        dimensions = counted(len(case.shape), "dimensions")
        return f" has {dimensions}; {spec.signature} takes {len(spec.largest)}"
    if case.dtype not in spec.dtypes:
        return f": {spec.signature} takes {', '.join(spec.dtypes)}"
    if case.pad and len(case.shape) == 1:
        return ": pad goes between rows, and a vector has none"
    if (needed := _bytes(spec, case)) > CHECK_ARENA // 2:
        most = f"{CHECK_ARENA >> 21} MiB"
        return f": its tensors take {needed / 2**20:,.0f} MiB, and those of a case get {most}"
    return None


def _bytes(spec: Spec, case: Case) -> int:
    """Return the bytes of all tensors, as if each had the case's shape, padding and offset."""
    tensors = sum(argument.role != "scalar" for argument in spec.arguments)
    rows = case.elements // case.shape[-1]
    return tensors * ITEMSIZE[case.dtype] * (case.offset + case.elements + rows * case.pad)


def _require_few_elements(spec: Spec, case: Case, option: str) -> None:
    # A failure may name these, and one of the memory step a case twice as large.
    known = (*spec.edges, spec.counted)
    simulated = min(SIMULATED * spec.most_elements, SIMULATED_IN_BLOCKS)
    most = max(simulated, *(2 * one.elements for one in known))
    if case.elements > most:
        raise CannotGrade(
            f"{option} has {case.elements:,} elements; simulated on the CPU, a case may have "
            f"{most:,}: a larger one takes minutes.",
            "Try a smaller case, or this one on a machine with a CUDA GPU.",
        )

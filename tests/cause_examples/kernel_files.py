"""The kernel files of examples: what each computes, in which case, and what a report says of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from evidences import spec_of

from grader.model import Case, Spec

FOLDER = Path(__file__).parent / "kernels"
HEAD = re.compile(
    r"^# (?P<spec>\w+) (?P<shape>[\dx]+)(?:\+(?P<pad>\d+))?(?: (?P<word>\w+))?$", re.M
)
SAYS = re.compile(r"^# says (.+)$", re.M)
DRAWN = {"inputs": lambda case, draw: {"x": draw.tensor(case.shape)}}
SPECS = {
    "copy": spec_of(lambda i: {"out": i["x"] * 1.0}, "x", **DRAWN),
    "table": spec_of(
        lambda i: {"out": i["x"] * 1.0},
        "x",
        largest=(9, 9),
        edges=(Case((2, 5), "float32"),),
        **DRAWN,
    ),
    "softmax": spec_of(lambda i: {"out": i["x"].softmax(-1)}, "x", largest=(9, 99), **DRAWN),
    "columns": spec_of(
        lambda i: {"out": i["x"].sum(0, keepdim=True)},
        "x",
        shape=lambda i: (1, i["x"].shape[1]),
        **DRAWN,
    ),
    "sum": spec_of(lambda i: {"out": i["x"].sum(-1, keepdim=True)}, "x", shape=(1,), **DRAWN),
    "highest": spec_of(lambda i: {"out": i["x"].amax(-1, keepdim=True)}, "x", shape=(1,), **DRAWN),
    "positive": spec_of(lambda i: {"out": i["x"].relu()}, "x", **DRAWN),
    "counts": spec_of(
        lambda i: {"out": i["x"].bincount(minlength=4)},
        "x",
        shape=(4,),
        out_dtype="int32",
        inputs=lambda case, draw: {"x": draw.indices(case.shape[0], 4)},
    ),
}


@dataclass(frozen=True)
class KernelFile:
    """A kernel that is wrong in a case, and shows what `detector` looks for, or nearly does.

    `word` is the cause that a report names, `line` its line (0: any), and `says` are parts of its
    hint. A near miss has none of these parts, or, without them, another cause.
    """

    detector: str
    shows: bool
    path: Path
    spec: Spec
    case: Case
    word: str
    line: int
    says: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"{self.detector}/{self.path.stem}"


def kernel_files() -> list[KernelFile]:
    return [_read(path) for path in sorted(FOLDER.glob("*/*.py"))]


def _read(path: Path) -> KernelFile:
    text = path.read_text(encoding="utf-8")
    head = HEAD.search(text)
    assert head is not None, f"{path} does not say what it computes"
    shape = tuple(map(int, head["shape"].split("x")))
    marked = [n for n, line in enumerate(text.splitlines(), 1) if line.endswith("# here")]
    return KernelFile(
        detector=path.parent.name,
        shows=path.stem.startswith("shown_"),
        path=path,
        spec=replace(SPECS[head["spec"]], backend="numba" if "numba" in text else "triton"),
        case=Case(shape, "float32", pad=int(head["pad"] or 0), seed=1),
        word=head["word"] or path.parent.name,
        line=marked[0] if marked else 0,
        says=tuple(SAYS.findall(text)),
    )

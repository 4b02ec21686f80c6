"""`Case`, a small description of one input, and `Draw`, which draws its tensors."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from grader.model.arguments import ITEMSIZE
from grader.model.outcomes import counted

if TYPE_CHECKING:
    from torch import Tensor

_EXTENT = r"[1-9]\d{0,98}"  # Python refuses to read a number of more than 4,300 digits
# Values of `Case.draw`; `grader.correctness.inputs` has the distributions.
DRAWS = (
    "rows",
    "ties",
    "constant",
    "extremes",
    "denormals",
    "integers",
    "spikes",
    "sunken",
    "counting",
    "signs",
    "hundreds",
    "depths",
)


def are_extents(shape: object) -> bool:
    """Report whether a tensor can have this shape, and at least one element."""
    return isinstance(shape, tuple) and shape != () and all(map(is_extent, shape))


def is_extent(number: object) -> bool:
    return type(number) is int and number > 0


@dataclass(frozen=True)
class Case:
    """A small description of one input, from which the judge draws the tensors.

    `draw` is one of DRAWS. `pad` is the number of unused elements after each row of the first
    tensor. If it is not 0, later tensors have more, so that no two strides are equal. `offset` is
    the number of elements by which each tensor starts after a 16-byte boundary. A `seed` of 0 lets
    the run choose.
    """

    shape: tuple[int, ...]
    dtype: str
    draw: str = "rows"
    pad: int = 0
    offset: int = 0
    seed: int = 0

    @property
    def fault(self) -> str | None:
        """The first field that no tensor can be drawn from, in words."""
        if not are_extents(self.shape):
            return f"shape is a tuple of whole numbers, 1 or more, and not {self.shape!r}"
        if self.draw not in DRAWS:
            return f"draw may be {', '.join(DRAWS)}, and not {self.draw!r}"
        for name, number in (("pad", self.pad), ("offset", self.offset), ("seed", self.seed)):
            if type(number) is not int or number < 0:
                return f"{name} is a whole number, 0 or more, and not {number!r}"
        return None

    @property
    def elements(self) -> int:
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def headline(self) -> str:
        """The case in words: `7 elements of float32`, or `1 × 1,025 in float16 (offset 1)`.

        Several extents are not always a tensor's shape: one may be, say, a polynomial's degree.
        """
        extras = [self.draw] if self.draw != "rows" else []
        extras += [f"row padding {self.pad}"] if self.pad else []
        extras += [f"offset {self.offset}"] if self.offset else []
        return self._size + (f" ({', '.join(extras)})" if extras else "")

    @property
    def _size(self) -> str:
        if len(self.shape) == 1:
            return f"{counted(self.shape[0], 'elements')} of {self.dtype}"
        return f"{' × '.join(f'{extent:,}' for extent in self.shape)} in {self.dtype}"

    def __str__(self) -> str:
        """Return the form that `--case` takes, such as `1x1025,float16,draw=ties,pad=3,seed=7`."""
        parts = ["x".join(map(str, self.shape)), self.dtype]
        parts += [f"draw={self.draw}"] if self.draw != "rows" else []
        parts += [
            f"{name}={value}"
            for name, value in (("pad", self.pad), ("offset", self.offset), ("seed", self.seed))
            if value
        ]
        return ",".join(parts)

    @classmethod
    def parse(cls, text: str) -> Case:
        """Read the form that `str` writes. Raises ValueError that names the wrong part."""
        shape, _, rest = text.strip().partition(",")
        dtype, _, rest = rest.partition(",")
        if not re.fullmatch(rf"{_EXTENT}(x{_EXTENT})*", shape):
            raise ValueError(f"a case starts with its shape, such as 2x1025, not {shape!r}")
        if dtype not in ITEMSIZE:
            raise ValueError(f"{dtype!r} is not a dtype: use one of {', '.join(ITEMSIZE)}")
        case = cls(shape=tuple(map(int, shape.split("x"))), dtype=dtype)
        parts = list(filter(None, rest.split(",")))
        names = [part.partition("=")[0] for part in parts]
        for name, part in zip(names, parts, strict=True):
            value = part.partition("=")[2]
            if names.count(name) > 1:
                raise ValueError(f"{name} may be given once")
            if name == "draw" and value in DRAWS:
                case = replace(case, draw=value)
            elif name in ("pad", "offset", "seed") and re.fullmatch(r"\d{1,99}", value):
                case = case._with_number(name, int(value))
            else:
                raise ValueError(
                    f"{part!r} is not one of draw=NAME, pad=N, offset=N, seed=N, where NAME is "
                    f"{', '.join(DRAWS[:-1])} or {DRAWS[-1]}"
                )
        return case

    @classmethod
    def of_headline(cls, text: str) -> Case:
        """Read the shape and dtype of a headline; older results have such as `1×1025 float16`.

        Raises ValueError.
        """
        words = re.fullmatch(
            r"(?P<shape>\d[\d,]*(?: ?× ?\d[\d,]*)*)(?: elements? of| in)? (?P<dtype>\w+)"
            r"(?: \(.*\))?",
            text,
        )
        if words is None:
            raise ValueError(f"{text!r} does not name a case")
        shape = re.sub("[ ,]", "", words["shape"]).replace("×", "x")
        return cls.parse(f"{shape},{words['dtype']}")

    def _with_number(self, name: str, value: int) -> Case:
        numbers = {"pad": self.pad, "offset": self.offset, "seed": self.seed} | {name: value}
        return replace(self, pad=numbers["pad"], offset=numbers["offset"], seed=numbers["seed"])


class Draw(Protocol):
    """Values for a spec's `inputs`; `grader.correctness.inputs` implements it for one case.

    Every tensor comes out with the case's layout (padding and offset) and on the judge's device.
    """

    def tensor(
        self, shape: tuple[int, ...], *, dtype: str | None = None, extreme: float | None = None
    ) -> Tensor:
        """Draw finite values of the case's distribution, rounded to `dtype` (the case's own).

        In the distribution `extremes` they reach ±`extreme` (the dtype's largest finite value): a
        spec lowers it so that the correctly rounded output stays finite. Whole numbers lie between
        -`extreme` and `extreme`, unsigned ones between 0 and `extreme`.
        """

    def indices(self, count: int, below: int, ignored: int | None = None) -> Tensor:
        """Draw `count` int64 in [0, below); about one in five is `ignored` when that is given."""

    def number(self, low: float, high: float) -> float:
        """Draw a float, log-uniform in [low, high], that float32 holds exactly."""

    def factor(self, most: float) -> float:
        """Draw a float of any sign and size up to `most`, 0 among them; float32 holds it exactly.

        In the scored case it is an ordinary number.
        """

    def integer(self, low: int, high: int) -> int:
        """Draw an int, uniform in [low, high]."""

    def truth(self) -> bool:
        """Draw True or False, with the same probability."""

    def seed(self) -> int:
        """Draw a seed for the kernel's own random numbers, uniform in [0, MOST_SEED]."""

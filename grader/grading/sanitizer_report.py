"""Read compute-sanitizer's report as errors on the learner's own lines.

The form of the report is that of NVIDIA's manual "Compute Sanitizer", chapters 3 (memcheck) and 4
(racecheck); versions before and after 2024 write the place of an access differently, and both
are read. An entry begins with `========= ` and goes on in lines with more spaces after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.model import Frame, SanitizerError, counted

MOST_ERRORS = 8  # different ones that are reported

_PREFIX = "========="
_LONGEST_LINE = 2000  # characters; the rest of a longer one is not read
_INVALID = re.compile(
    r"Invalid (?:__(?P<space>\w+?)__ )?(?P<access>read|write|atomic) "
    r"of size (?P<size>[\d,]{1,20}) bytes",
    re.IGNORECASE,
)
_RACE = re.compile(
    r"(?P<grade>Error|Warning|Info): Race reported between (?P<access>\w+) access at (?P<at>.+)",
    re.IGNORECASE,
)
_OTHER_ACCESS = re.compile(
    r"and (?P<access>\w+) access at (?P<at>.+?)(?: \[[\d,]{1,20} hazards?\])?$"
)
_THREAD = re.compile(r"by thread (\(\d+,\d+,\d+\)) in block (\(\d+,\d+,\d+\))")
_NEAREST = re.compile(
    r"and is (?:(?P<distance>[\d,]{1,20}) bytes (?P<side>before|after)|inside) "
    r"the nearest allocation "
    r"at (?P<address>0x[0-9a-f]{1,16})"
)
_SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: ")
_IN_FILE = re.compile(
    r"(?:(?P<function>.+?)\+)?0x[0-9a-f]+ in (?P<file>.+?):(?P<line>\d{1,9})(?::(?P<old>.+))?$"
)
_NO_FILE = re.compile(r"(?:(?P<function>.+?)\+0x[0-9a-f]+|0x[0-9a-f]+ in (?P<old>.+))$")
# Lines that say nothing of the kernel: the title, and what the tool adds when the program failed,
# whose cause is an entry before or the program's own words.
_NOTHING = re.compile(r"COMPUTE-SANITIZER$|Program hit |Target application returned an error|$")

_MARKS = re.compile(r"\[abi:[^\]]*\]")

_VERBS = {"read": "reads", "write": "writes", "atomic": "updates"}


@dataclass(frozen=True)
class Report:
    """The findings of one run of the tool.

    `elsewhere` counts races between lines of libraries, which are not the learner's; `unknown`
    holds the first lines of entries that could not be read; a report without its summary is not
    `complete`.
    """

    errors: tuple[SanitizerError, ...]
    elsewhere: int
    unknown: tuple[str, ...]
    complete: bool


@dataclass(frozen=True)
class Place:
    """The place of an access in the compiled code; without line information only its function."""

    function: str
    file: str | None = None
    line: int = 0


@dataclass(frozen=True)
class KernelFile:
    """The learner's file as the report names it, and its text."""

    path: Path
    text: str

    def frame(self, place: Place) -> Frame | None:
        """Return the learner's line at this place, or None when it is not in their file."""
        lines = self.text.splitlines()
        if place.file is None or not 1 <= place.line <= len(lines):
            return None
        if place.file not in (str(self.path), self.path.name):  # some compilers write the bare name
            return None
        return Frame(line=place.line, function=place.function, code=lines[place.line - 1])


def read(report: str, kernel: KernelFile, arrays: Mapping[int, str]) -> Report:
    """Read a report; `arrays` maps an address to the argument that begins there."""
    errors: list[SanitizerError] = []
    unknown: list[str] = []
    elsewhere, complete = 0, False
    for head, *rest in _entries(report):
        if _SUMMARY.match(head):
            complete = True
        elif invalid := _INVALID.match(head):
            errors.append(_invalid_access(invalid, rest, kernel, arrays))
        elif race := _RACE.match(head):
            places = [place for _, place in _sides(race, rest)]
            if race["grade"].lower() != "error":
                continue  # the tool itself takes it for intended, or for harmless
            if all(p.file is not None and kernel.frame(p) is None for p in places):
                elsewhere += 1
            else:
                errors.append(_race(race, rest, kernel))
        elif not _NOTHING.match(head):
            unknown.append(head)
    return Report(_merged(errors), elsewhere, tuple(unknown), complete)


def _entries(report: str) -> Iterator[list[str]]:
    entry: list[str] = []
    for line in report.splitlines():
        if not line.startswith(_PREFIX):
            continue
        text = line[len(_PREFIX) : _LONGEST_LINE]
        if text.startswith("  ") and entry:
            entry.append(text.strip())
        else:
            if entry:
                yield entry
            entry = [text.strip()]
    if entry:
        yield entry


def _place(text: str) -> Place:
    if match := _IN_FILE.match(text):
        name = match["function"] or match["old"] or ""
        return Place(_bare_name(name), match["file"], int(match["line"]))
    match = _NO_FILE.match(text)
    return Place(_bare_name((match["function"] or match["old"]) if match else text))


def _bare_name(function: str) -> str:
    return _MARKS.sub("", function).split("(", 1)[0].rpartition("::")[2].strip()


def _invalid_access(
    head: re.Match[str], rest: Sequence[str], kernel: KernelFile, arrays: Mapping[int, str]
) -> SanitizerError:
    places = [_place(line.removeprefix("at ")) for line in rest if line.startswith("at ")]
    # The calls that lead there, where the compiler kept them apart.
    frames = [line.partition(":")[2].strip() for line in rest if line.startswith("Device Frame:")]
    places += [_place(frame) for frame in frames]
    own = next((frame for place in places if (frame := kernel.frame(place))), None)
    text = "\n".join(rest)
    thread = _THREAD.search(text)
    misaligned = "misaligned" in text
    size = int(head["size"].replace(",", ""))
    did = f"{_VERBS[head['access'].lower()]} {counted(size, 'bytes')}"
    if misaligned:
        where = "at an address that is not a multiple of that size"
    elif (head["space"] or "global") != "global":
        where = f"outside its {head['space']} memory"
    else:
        where = _relative(_NEAREST.search(text), arrays)
    return SanitizerError(
        kind="misaligned" if misaligned else "out_of_bounds",
        message=f"{did} {where}",
        function=places[0].function if places else "",
        frames=() if own is None else (own,),
        thread=thread[1] if thread else None,
        block=thread[2] if thread else None,
    )


def _relative(nearest: re.Match[str] | None, arrays: Mapping[int, str]) -> str:
    if nearest is None:
        return "outside every array"
    name = arrays.get(int(nearest["address"], 16), "the nearest array")
    if nearest["side"] is None:  # begins inside
        return f"across the end of {name}"
    edge = "the end" if nearest["side"] == "after" else "the start"
    distance = int(nearest["distance"].replace(",", ""))
    if distance == 1 and nearest["side"] == "after":  # the first byte that is not part of it
        return f"right after the end of {name}"
    return f"{counted(distance, 'bytes')} {nearest['side']} {edge} of {name}"


def _sides(head: re.Match[str], rest: Sequence[str]) -> list[tuple[str, Place]]:
    sides = [(head["access"].lower(), _place(head["at"].strip()))]
    others = (_OTHER_ACCESS.match(line) for line in rest)
    return sides + [(o["access"].lower(), _place(o["at"].strip())) for o in others if o]


def _race(head: re.Match[str], rest: Sequence[str], kernel: KernelFile) -> SanitizerError:
    sides = _sides(head, rest)
    own = [frame for _, place in sides if (frame := kernel.frame(place))]
    frames = tuple({frame.line: frame for frame in own}.values())
    kinds = sorted({access for access, _ in sides})
    if kinds == ["write"]:
        what = "two threads write the same place in shared memory"
    else:
        what = "one thread writes what another reads in shared memory"
    return SanitizerError(
        kind="race",
        message=f"{what}, and no barrier between them says which comes first",
        function=sides[0][1].function,
        frames=frames,
    )


def _merged(errors: Sequence[SanitizerError]) -> tuple[SanitizerError, ...]:
    """Keep the first error of each kind on each line, with the count of all."""
    groups: dict[object, list[SanitizerError]] = {}
    for error in errors:
        verb = error.message.split()[0]
        where = tuple(f.line for f in error.frames) or error.function
        groups.setdefault((error.kind, verb, where), []).append(error)
    first = [group[0].model_copy(update={"count": len(group)}) for group in groups.values()]
    return tuple(first[:MOST_ERRORS])

"""The text of inline assembly, as instructions: their words, operands and guards."""

from __future__ import annotations

import re
from dataclasses import dataclass

from grader.backends.triton.device.faults import Malformed, NotSimulated

MOST_INSTRUCTIONS = 2000

# `tl.extra.cuda.gdc_wait` and `gdc_launch_dependents`: launches run one after the other anyway.
_OF_LAUNCHES = ("griddepcontrol.wait", "griddepcontrol.launch_dependents")
# The text may be hostile: none of these looks at a character more than a few times.
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|(?P<open>\Z))", re.DOTALL)
_VECTOR = re.compile(r"\{[^;{},]*+,[^;{}]*+\}")
_INSTRUCTION = re.compile(r"(?:@(!?)(\S+)\s+)?([a-z][\w.]*)\s+(.+)", re.DOTALL)
_REGISTERS = re.compile(r"\.reg(?:\s+\.\w+)+\s+[\w%$<>,\s]+")
_TYPE = re.compile(r"f16x2|bf16x2|bf16|f16|f32|f64|[sub](?:8|16|32|64)|pred")


@dataclass(frozen=True)
class Instruction:
    """One instruction: its words (`add`, `f32`), the operands, and the predicate that guards it."""

    words: tuple[str, ...]
    operands: tuple[str, ...]
    guard: str = ""
    negated: bool = False

    @property
    def name(self) -> str:
        return self.words[0]

    @property
    def text(self) -> str:
        return ".".join(self.words)

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(word for word in self.words[1:] if _TYPE.fullmatch(word))

    @property
    def modifiers(self) -> frozenset[str]:
        return frozenset(self.words[1:]) - frozenset(self.types)


def instructions(text: str) -> list[Instruction]:
    """Return the instructions of a text; raise NotSimulated or Malformed for what is none."""
    text = _COMMENT.sub(_space, text)
    if match := _VECTOR.search(text):  # its braces would look like a block's
        raise NotSimulated(f"the vector {match[0][:80]} of registers in assembly")
    found = []
    for line in map(str.strip, re.split(r"[;{}]", text)):
        if not line or line in _OF_LAUNCHES or _REGISTERS.fullmatch(line):
            continue
        match = _INSTRUCTION.fullmatch(line)
        if match is None:
            raise NotSimulated(f"the assembly {line[:80]!r}")
        negated, guard, words, operands = match.groups(default="")
        found.append(
            Instruction(
                words=tuple(words.split(".")),
                operands=tuple(each.strip() for each in operands.split(",")),
                guard=guard,
                negated=negated == "!",
            )
        )
        if len(found) > MOST_INSTRUCTIONS:
            raise Malformed(f"more than {MOST_INSTRUCTIONS} instructions of assembly")
    return found


def _space(comment: re.Match[str]) -> str:
    if comment["open"] is not None:
        raise Malformed("a comment without an end in assembly")
    return " "

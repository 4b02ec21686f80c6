"""The locations of a module, which follow its operations in lines of their own: places in files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from grader.backends.triton.device.faults import Malformed
from grader.backends.triton.device.ttir.literals import string
from grader.backends.triton.device.ttir.records import Site

MOST_BYTES = 4 << 20
MOST_NESTED = 64
MOST_CALLERS = 64

_STRING = r'"(?:[^"\\\n]|\\.)*+"'
_FLAT = rf'(?:[^()"\n]++|{_STRING})*+'
_NESTED = rf'(?:[^()"\n]++|{_STRING}|\({_FLAT}\))*+'
# A line that has more than a location could hide operations from us, but not from a compiler.
_DEFINITION = re.compile(
    rf'^(#loc\d*) = loc\(((?:[^()"\n]++|{_STRING}|\({_NESTED}\))*+)\)$', re.MULTILINE
)
# MLIR escapes all others. A compiler may take some of them for the end of a comment.
_UNPRINTED = re.compile(r"[^\n\t -~]")
_TOKEN = re.compile(r'\s*("(?:[^"\\\n]|\\.)*"|#loc\d*|[A-Za-z_]\w*|\d+|<[^<>]*>|[][():,])')


def split(text: str) -> tuple[str, dict[str, str]]:
    """Part a module's text into the operations and the texts of locations by their aliases."""
    if len(text) > MOST_BYTES:
        raise Malformed(f"a text of more than {MOST_BYTES} bytes")
    if found := _UNPRINTED.search(text):
        raise Malformed(f"the character {found[0]!a}")
    definitions = dict(_DEFINITION.findall(text))
    return _DEFINITION.sub("", text), definitions


class Sites:
    """The site of each location, read when it is first asked for."""

    def __init__(self, definitions: Mapping[str, str]) -> None:
        self._definitions = definitions
        self._known: dict[str, Site] = {}
        self._nested = 0

    def of(self, location: str) -> Site:
        """Return the site of a text such as `loc("row_max"(#loc3))`."""
        return self._site(location[len("loc(") : -1])

    def _site(self, text: str) -> Site:
        site = self._known.get(text)
        if site is None:
            tokens = _tokens(text)
            site, end = self._read(tokens, 0)
            if end != len(tokens) - 1:
                raise Malformed(f"the location {text[:80]}")
            self._known[text] = site
        return site

    def _read(self, tokens: list[str], at: int) -> tuple[Site, int]:
        """Read one location; return it and the place after it."""
        self._nested += 1
        if self._nested > MOST_NESTED:
            raise Malformed(f"locations nest more than {MOST_NESTED} deep")
        try:
            return self._location(tokens, at)
        finally:
            self._nested -= 1

    def _location(self, tokens: list[str], at: int) -> tuple[Site, int]:
        token = tokens[at]
        if token.startswith("#"):
            if token not in self._definitions:
                raise Malformed(f"no location {token[:80]}")
            return self._site(self._definitions[token]), at + 1
        if token.startswith('"'):
            if tokens[at + 1] == ":":
                return _place(tokens, at)
            if tokens[at + 1] == "(":
                site, at = self._read(tokens, at + 2)
                return replace(site, name=string(token)), _past(tokens, at, ")")
            return Site(name=string(token)), at + 1
        if token == "callsite":
            return self._call(tokens, at + 1)
        if token == "fused":
            return self._fused(tokens, at + 1)
        if token == "unknown":
            return Site(), at + 1
        raise Malformed(f"a location with {token[:80] or 'nothing'}")

    def _call(self, tokens: list[str], at: int) -> tuple[Site, int]:
        callee, at = self._read(tokens, _past(tokens, at, "("))
        caller, at = self._read(tokens, _past(tokens, at, "at"))
        callers = (*callee.callers, replace(caller, callers=()), *caller.callers)
        if len(callers) > MOST_CALLERS:
            raise Malformed(f"a location with more than {MOST_CALLERS} callers")
        return replace(callee, callers=callers), _past(tokens, at, ")")

    def _fused(self, tokens: list[str], at: int) -> tuple[Site, int]:
        if tokens[at].startswith("<"):
            at += 1
        at = _past(tokens, at, "[")
        sites = []
        while True:
            site, at = self._read(tokens, at)
            sites.append(site)
            if tokens[at] == "]":
                return next((each for each in sites if each.file), sites[0]), at + 1
            at = _past(tokens, at, ",")


def _tokens(text: str) -> list[str]:
    tokens, at = [], 0
    text = text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise Malformed(f"the location {text[:80]}")
        tokens.append(match[1])
        at = match.end()
    return [*tokens, ""]


def _past(tokens: list[str], at: int, expected: str) -> int:
    if tokens[at] != expected:
        raise Malformed(f"a location with {tokens[at][:80]!r} for {expected!r}")
    return at + 1


def _place(tokens: list[str], at: int) -> tuple[Site, int]:
    """Read "file":line:column, which may go on with `to :line:column`."""
    line = tokens[at + 2]
    if not line.isdecimal() or len(line) > 9:
        raise Malformed(f"a location with the line {line[:80]!r}")
    site = Site(string(tokens[at]), int(line))
    at = _past(tokens, at + 3, ":")
    if not tokens[at].isdecimal():
        raise Malformed(f"a location with the column {tokens[at][:80]!r}")
    at += 1
    if tokens[at] == "to":
        at += 1
        while tokens[at] == ":" or tokens[at].isdecimal():
            at += 1
    return site, at

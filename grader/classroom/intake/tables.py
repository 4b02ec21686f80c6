"""CSV files as spreadsheets, learning systems and people write them.

The separator is a comma, a semicolon or a tab. The text is UTF-8 or UTF-16, with a byte order mark
or without one, or else Windows-1252, which is reported.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.model import UsageError, quoted, texts

LARGEST = 16 << 20  # bytes of a file
LONGEST_CELL = 200  # characters that are kept
_SEPARATORS = ",;\t"
_NEXT = "Name a CSV file whose first line names its columns."
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass(frozen=True)
class Row:
    """One record: the number of its first line, and its cells."""

    line: int
    cells: Mapping[str, str]  # by the column's heading; of two with one heading the first


@dataclass(frozen=True)
class Table:
    """A file's columns in order, its rows, and a sentence for each line that is odd."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    problems: tuple[str, ...]


def read(path: Path) -> Table:
    """Read a CSV file. Raises UsageError where the file as a whole cannot be read."""
    problems: list[str] = []
    text = _text(path, problems)
    records = list(_records(text, problems))
    while records and not any(cell.strip() for cell in records[0][1]):
        del records[0]
    if not records:
        raise UsageError(f"{path} is empty.", _NEXT)
    columns = _columns(records[0], problems)
    rows = []
    for line, cells in records[1:]:
        if len(cells) > len(columns) and any(cell.strip() for cell in cells[len(columns) :]):
            problems.append(
                f"line {line:,} has more cells than there are columns: they are ignored"
            )
        if not any(cell.strip() for cell in cells):
            continue
        by_heading: dict[str, str] = {}
        for column, cell in zip(columns, cells, strict=False):
            by_heading.setdefault(column, cell)
        rows.append(Row(line, by_heading))
    return Table(tuple(dict.fromkeys(columns)), tuple(rows), tuple(problems))


def key_of(heading: str) -> str:
    """Return a heading without its case, blanks and punctuation: `SIS Login ID` is `sisloginid`."""
    return re.sub(r"[\W_]", "", heading.casefold())


def _text(path: Path, problems: list[str]) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"The file {path} cannot be read: {error.strerror}.", _NEXT) from None
    if len(content) > LARGEST:
        raise UsageError(f"{path} has more than {LARGEST:,} bytes.", _NEXT)
    encoding = next((e for mark, e in _MARKS.items() if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")
        problems.append(
            "the file is not in UTF-8, and was read as Windows-1252: look at names with accents, "
            "or save it as UTF-8"
        )
    if "\0" in text:
        problems.append("the file holds zero bytes, which are left out: look at its first names")
    return text.replace("\0", "")


def _records(text: str, problems: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield each record with the number of its first line; a quoted cell may span lines.

    Where quotes make no sense, the line is read alone: an open one does not take the file's rest.
    """
    separator, lines = _separator(text), list(io.StringIO(text, newline=""))
    start = 0  # lines before the reader's first
    while start < len(lines):
        rest = (lines[number] for number in range(start, len(lines)))
        reader = csv.reader(rest, delimiter=separator, strict=True)
        line = start + 1
        try:
            for cells in reader:
                yield line, cells
                line = start + reader.line_num + 1
            return
        except csv.Error:
            problems.append(f"line {line:,} has quotes that do not fit, and was read without them")
        yield line, [cell.strip() for cell in lines[line - 1].replace('"', "").split(separator)]
        start = line


def _separator(text: str) -> str:
    heading = next(filter(str.strip, text.splitlines()), "")
    return max(_SEPARATORS, key=heading.count)


def _columns(heading: tuple[int, Sequence[str]], problems: list[str]) -> list[str]:
    columns = [texts.clean_line(cell, LONGEST_CELL) for cell in heading[1]]
    for number, column in enumerate(columns):
        if column and column in columns[:number]:
            problems.append(
                f"line {heading[0]:,} names the column {quoted(column)} twice: the first counts"
            )
    return columns

"""A board as files: `board.json` for programs, and a folder that is swapped as a whole.

`python -m grader.classroom.board.publish` prints the JSON Schema of `grader/board/v1`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from grader.classroom.board.records import Site
from grader.model import UsageError, fill_folder, replacing_folder

SCHEMA = "grader/board/v1"
DOCUMENT = "board.json"
# Lists all files of a board: only these are deleted when a newer board replaces it.
LIST = ".grader-board"

_site = TypeAdapter(Site)


def to_json(site: Site) -> str:
    """Return the site as one JSON object, `grader/board/v1`."""
    return f'{{"schema":"{SCHEMA}",{_site.dump_json(site).decode()[1:]}\n'


def json_schema() -> dict[str, Any]:
    schema = _site.json_schema(mode="serialization")
    schema["properties"] = {"schema": {"const": SCHEMA}} | schema["properties"]
    schema["required"] = ["schema", *schema["required"]]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def require_replaceable(out: Path) -> None:
    """Raise UsageError unless `out` is missing, empty, or an earlier board and nothing else."""
    if not os.path.lexists(out):
        return
    if out.is_symlink() or not out.is_dir():
        raise UsageError(f"{out} is not a folder.", "Name a folder for the board with --out.")
    there = {path.relative_to(out).as_posix() for path in out.rglob("*") if not path.is_dir()}
    listed = out / LIST
    known = set(listed.read_text(encoding="utf-8").split("\n")) if listed.is_file() else set()
    others = sorted(there - known - {LIST})
    if others:
        raise UsageError(
            f"{out} holds {others[0]!r}, which no earlier board wrote there.",
            "Name a new folder, or one that holds only an earlier board, which is replaced.",
        )


def write(out: Path, files: Mapping[str, str]) -> None:
    """Replace the folder `out` by these files, keyed by their names in it.

    Raises UsageError as `require_replaceable` does, and where nothing can be written.
    """
    require_replaceable(out)
    try:
        with replacing_folder(out) as new:
            fill_folder(new, {**files, LIST: "\n".join([*sorted(files), ""])})
    except OSError as error:
        raise UsageError(
            f"The board cannot be written to {out}: {error.strerror}.",
            "Name a place in a folder that exists, where you may write.",
        ) from None


if __name__ == "__main__":
    print(json.dumps(json_schema(), indent=2))

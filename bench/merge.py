"""Put the records of several runs of one benchmark together, such as one of each GPU of a machine.

    python bench/merge.py bench/results/honest_h200.json one.json two.json

For records of honest.py, redteam.py, mutants.py and verify_on_gpu.py that hold different kernels,
and were made in one environment; `wall_s` is the sum over all of them. Exit code 1 when they do not
fit together.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

# What names a row of each list that a record may hold.
ROWS = {
    "kernels": ("kernel", "kind", "exercise"),
    "cheats": ("name",),
    "solutions": ("exercise",),
    "exercises": ("exercise",),
    "not_ok": ("exercise", "kernel"),
    "left_out": (),
    "left": (),
}


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("out", type=Path)
    options.add_argument("records", type=Path, nargs="+")
    asked = options.parse_args(argv)
    try:
        record = merged([json.loads(path.read_text(encoding="utf-8")) for path in asked.records])
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    asked.out.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return 0


def merged(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One record of all; raises ValueError where two are of different kinds or hold one kernel."""
    whole: dict[str, Any] = {}
    for key in dict.fromkeys(chain.from_iterable(records)):
        values = [record[key] for record in records if key in record]
        if key in ROWS:
            whole[key] = _rows(key, values)
        elif key == "wall_s":
            whole[key] = _sum(values)
        elif key in ("runs", "rejected"):
            whole[key] = sum(values)
        elif key == "fingerprints":
            whole[key] = {name: value for each in values for name, value in each.items()}
        elif key == "counts":
            whole[key] = dict(sum(map(Counter, values), Counter()))
        elif key == "ok":
            whole[key] = all(values)
        elif all(value == values[0] for value in values):
            whole[key] = values[0]
        else:
            raise ValueError(f"the records differ in {key!r}: {values[0]} and others")
    return whole


def _rows(key: str, values: Sequence[list[Any]]) -> list[Any]:
    def name(row: Any) -> tuple[str, ...]:
        return tuple(row.get(part, "") for part in ROWS[key]) if ROWS[key] else (row,)

    rows = sorted(chain.from_iterable(values), key=name)
    twice = [one for one, times in Counter(map(name, rows)).items() if times > 1]
    if twice:
        raise ValueError(f"two records hold {' '.join(twice[0])}")
    return rows


def _sum(values: Sequence[Any]) -> Any:
    if isinstance(values[0], dict):
        return {key: round(sum(value[key] for value in values), 1) for key in values[0]}
    return round(sum(values), 1)


if __name__ == "__main__":
    sys.exit(main())

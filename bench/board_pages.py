"""How large the leaderboard's pages of a large class are, and how soon one can use them.

    python bench/board_pages.py --out bench/results/board_pages_cpu.json

The class has 500 students with 20 attempts at each of 10 exercises; tests/sites.py makes it up.
Each kind of page is opened anew in headless Chromium, from a file: `ready_s` is from the start of
the navigation until the page's script has done its part, `sort_s` from the first click on a column
until the sorted table has been drawn. A person runs this on a machine that does nothing else; no
test depends on it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from host import machine

from grader.reports.board import pages

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import sites
from browsing import launched

RUNS = 7
MOST_BYTES = 1_000_000
MOST_SECONDS = 1.0
# Two frames: in the first the table is laid out anew, at the second it has been drawn.
SORTED = """() => new Promise((done) => {
  const ready = performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd;
  const began = performance.now();
  document.querySelector("thead th:not([aria-sort]) button").click();
  requestAnimationFrame(() => requestAnimationFrame(() => {
    done({ ready_s: ready / 1000, sort_s: (performance.now() - began) / 1000 });
  }));
})"""


def main(argv: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--students", type=int, default=500)
    options.add_argument("--out", type=Path, help="write the figures here, as JSON")
    asked = options.parse_args(argv)

    load_before = os.getloadavg()[0]
    site = sites.large(asked.students)
    began = time.process_time()
    made = pages(site)
    rendered = time.process_time() - began
    largest = max(made, key=lambda name: len(made[name].encode()))
    opened, version = measured(made)
    print(f"{len(made)} pages in {rendered:.2f} s of one core; the largest is {largest}, ", end="")
    print(f"{len(made[largest].encode()):,} bytes")
    for one in opened:
        print(f"{one['page']:<34}{one['bytes']:>9,} bytes, usable after {one['usable_s']:.2f} s")
    within = len(made[largest].encode()) < MOST_BYTES and all(
        one["usable_s"] < MOST_SECONDS for one in opened
    )
    print("within the limits" if within else "NOT within the limits")
    if asked.out:
        record = {
            "benchmark": "board_pages",
            "machine": {
                **machine(),
                "load_average_before": load_before,
                "chromium": version,
            },
            "students": asked.students,
            "exercises": len(site.boards),
            "attempts": sum(len(student.tried) for student in site.students),
            "pages": len(made),
            "render_cpu_s": rendered,
            "bytes_together": sum(len(text.encode()) for text in made.values()),
            "largest": {"page": largest, "bytes": len(made[largest].encode())},
            "limits": {"bytes": MOST_BYTES, "usable_s": MOST_SECONDS},
            "opened": opened,
        }
        asked.out.write_text(json.dumps(record, indent=2) + "\n")
    return 0 if within else 1


def measured(made: Mapping[str, str]) -> tuple[list[dict[str, Any]], str]:
    """One page of each kind, opened and sorted: the medians, with all runs; and the browser."""
    found = []
    with tempfile.TemporaryDirectory() as folder, launched() as browser:
        for start in ("index", "exercises/", "students/"):
            name = max(
                (name for name in made if name.startswith(start)), key=lambda one: len(made[one])
            )
            file = Path(folder, "page.html")
            file.write_text(made[name], encoding="utf-8")
            runs = []
            for _ in range(RUNS):
                context = browser.new_context(viewport={"width": 1280, "height": 900})
                page = context.new_page()
                page.goto(file.as_uri())
                run = page.evaluate(SORTED)
                runs.append(run | {"usable_s": run["ready_s"] + run["sort_s"]})
                context.close()
            medians = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
            found.append({"page": name, "bytes": len(made[name].encode()), **medians, "runs": runs})
        return found, browser.version


if __name__ == "__main__":
    sys.exit(main())

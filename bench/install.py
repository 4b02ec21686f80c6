"""Seconds from `pip install` to the first verdict in a fresh environment, and the size on disk.

    python bench/install.py --out bench/results/install.json

builds the wheel of this clone, installs it with pip into a new environment, makes a learner's
folder with `grader init`, and grades p01_map twice: the stub that a learner finds, and its
solution. Each command is the real one. `--pip WORDS` adds words to `pip install`, such as the index
of torch's builds for the CPU; give it several times to measure several ways. Sizes are those of the
files in site-packages, with the bytecode that pip compiles. Downloads take
as long as the network does: pip keeps no cache here, and the record says where it looked.
`--size REQUIREMENT` adds to the record what pip would download for it from the package index, such
as torch with CUDA, and installs nothing.
A person runs this on a machine that does nothing else; no test depends on it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from host import machine

ROOT = Path(__file__).parents[1]
UNITS_MB = {"kB": 1e-3, "MB": 1.0, "GB": 1e3}
LARGEST = 12  # packages whose sizes the record names
EXERCISE = "p01_map"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pip", action="append", metavar="WORDS", help="for `pip install`")
    parser.add_argument("--size", metavar="REQUIREMENT", help="what pip would download for it")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    if given.size:
        record = json.loads(given.out.read_text()) | {"download": download(given.size)}
        given.out.write_text(json.dumps(record, indent=2) + "\n")
        return
    ways = [[], *map(str.split, given.pip or [])] if given.pip else [[]]
    with tempfile.TemporaryDirectory() as folder:
        wheel = build(Path(folder) / "dist")
        record = {
            "machine": machine(),
            "wheel_bytes": wheel.stat().st_size,
            "ways": [measured(Path(folder) / str(n), wheel, way) for n, way in enumerate(ways)],
        }
    given.out.write_text(json.dumps(record, indent=2) + "\n")
    print(json.dumps(record, indent=2))


def build(target: Path) -> Path:
    words = ["wheel", "--quiet", "--no-deps", "--wheel-dir", str(target), str(ROOT)]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True)
    shutil.rmtree(ROOT / "build", ignore_errors=True)
    (wheel,) = target.iterdir()
    return wheel


def measured(folder: Path, wheel: Path, words: Sequence[str]) -> dict[str, Any]:
    environment = folder / "environment"
    python = environment / "bin" / "python"
    grader = environment / "bin" / "grader"
    course = folder / "course"
    kernel = course / "puzzles" / EXERCISE / "kernel.py"
    folder.mkdir()
    seconds = {
        "venv": timed([sys.executable, "-m", "venv", environment]),
        "pip_install": timed(
            [python, "-m", "pip", "install", "--quiet", "--no-cache-dir", *words, wheel]
        ),
        "init": timed([grader, "init", course]),
        "first_check_of_the_stub": timed([grader, "check", EXERCISE], course, code=1),
    }
    shutil.copy(ROOT / "solutions" / EXERCISE / "kernel.py", kernel)
    seconds["check_that_passes"] = timed([grader, "check", EXERCISE], course)
    seconds["list"] = timed([grader, "list"], course)
    seconds["help"] = timed([grader, "--help"], course)
    first = ("venv", "pip_install", "init", "first_check_of_the_stub")
    return {
        "pip": list(words),
        "seconds": {name: round(value, 2) for name, value in seconds.items()},
        "seconds_to_the_first_verdict": round(sum(seconds[name] for name in first), 2),
        "indexes": indexes(python),
        "torch": version(python),
        **sizes(next(environment.glob("lib/python*/site-packages"))),
    }


def download(requirement: str) -> dict[str, Any]:
    """Have pip resolve a requirement on the package index alone, and return the sizes it names."""
    words = ["install", "--dry-run", "--ignore-installed", "--only-binary", ":all:"]
    index = ["--index-url", "https://pypi.org/simple", "--progress-bar", "off"]
    command = [sys.executable, "-m", "pip", "--isolated", *words, *index, requirement]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {"requirement": requirement, **downloaded(said)}


def downloaded(said: str) -> dict[str, Any]:
    """Read the packages and their megabytes (10^6 bytes) from what pip prints."""
    found = re.findall(r"Downloading (\w+)-(\d\S*)\.whl \(([\d.]+) (kB|MB|GB)\)", said)
    sizes = {name: float(size) * UNITS_MB[unit] for name, _, size, unit in found}
    largest = sorted(sizes.items(), key=lambda pair: -pair[1])[:LARGEST]
    return {
        "packages": len(sizes),
        "mb": round(sum(sizes.values())),
        "largest_mb": {name: round(size, 1) for name, size in largest},
    }


def timed(command: Sequence[object], folder: Path | None = None, code: int = 0) -> float:
    names = ("GRADER_COURSE", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    environment = {name: text for name, text in os.environ.items() if name not in names}
    begun = time.monotonic()
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode != code:
        raise SystemExit(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return time.monotonic() - begun


def indexes(python: Path) -> list[str]:
    """Name where pip looked, by protocol alone: addresses of a machine say nothing to a reader."""
    listed = subprocess.run(
        [python, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    local = "file:" in listed or "find-links" in listed
    return ["the package index", *(["files of this machine"] if local else [])]


def version(python: Path) -> str:
    code = "from importlib.metadata import version; print(version('torch'))"
    return subprocess.run(
        [python, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def sizes(site: Path) -> dict[str, Any]:
    each = {
        path.name: sum(f.lstat().st_size for f in (path, *path.rglob("*")) if not f.is_dir())
        for path in site.iterdir()
    }
    largest = sorted(each.items(), key=lambda pair: -pair[1])[:LARGEST]
    return {
        "packages": sum(name.endswith(".dist-info") for name in each),
        "mib": round(sum(each.values()) / 2**20),
        "largest_mib": {name: round(size / 2**20, 1) for name, size in largest},
    }


if __name__ == "__main__":
    main()

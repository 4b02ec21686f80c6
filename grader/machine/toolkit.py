"""Where NVIDIA's command-line tools are: compute-sanitizer, ncu, and their kin."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

VERSION_S = 20.0  # seconds that a tool gets to tell its version


def find(name: str) -> Path | None:
    """The program `name` on PATH, else where the CUDA toolkit and its tools are installed."""
    on_path = shutil.which(name)
    if on_path is not None:
        return Path(on_path)
    for folder in _folders():
        if os.access(folder / name, os.X_OK) and (folder / name).is_file():
            return folder / name
    return None


def _folders() -> list[Path]:
    """The toolkit that the environment names, the default one, then others, newest first."""
    named = [os.environ.get(variable) for variable in ("CUDA_HOME", "CUDA_PATH")]
    toolkits = [Path(root) for root in named if root] + [Path("/usr/local/cuda")]
    toolkits += sorted(Path("/usr/local").glob("cuda-*"), key=_numbers, reverse=True)
    products = sorted(Path("/opt/nvidia").glob("*/*"), key=_numbers, reverse=True)
    inside = [root / part for root in toolkits for part in ("bin", "compute-sanitizer")]
    return inside + products


def _numbers(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path.name)]


def version(tool: Path) -> str:
    """What the tool says of its version, such as `2025.3.1.0`; empty when it does not say."""
    try:
        told = subprocess.run(
            [str(tool), "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=VERSION_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    said = told.stdout.decode(errors="replace")
    found = re.search(r"[Vv]ersion (\d[\d.]*\d)", said) or re.search(r"(\d+(\.\d+)+)", said)
    return found[1] if found else ""

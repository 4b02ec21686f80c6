"""NVIDIA's command-line tools (compute-sanitizer, ncu, and their kin) and their versions."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

VERSION_S = 20.0  # seconds for `TOOL --version`


def find(name: str) -> Path | None:
    """Find a program on PATH, else where the CUDA toolkit and its tools are installed."""
    on_path = shutil.which(name)
    if on_path is not None:
        return Path(on_path)
    for folder in _folders():
        if os.access(folder / name, os.X_OK) and (folder / name).is_file():
            return folder / name
    return None


def _folders() -> list[Path]:
    """List the folders of the toolkit that the environment names, the default, then others.

    The others are sorted from the newest to the oldest.
    """
    named = [os.environ.get(variable) for variable in ("CUDA_HOME", "CUDA_PATH")]
    toolkits = [Path(root) for root in named if root] + [Path("/usr/local/cuda")]
    toolkits += sorted(Path("/usr/local").glob("cuda-*"), key=_numbers, reverse=True)
    products = sorted(Path("/opt/nvidia").glob("*/*"), key=_numbers, reverse=True)
    inside = [root / part for root in toolkits for part in ("bin", "compute-sanitizer")]
    return inside + products


def _numbers(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path.name)]


def version(tool: Path) -> str:
    try:
        done = subprocess.run(
            [str(tool), "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=VERSION_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    text = done.stdout.decode(errors="replace")
    match = re.search(r"[Vv]ersion (\d[\d.]*\d)", text) or re.search(r"(\d+(\.\d+)+)", text)
    return match[1] if match else ""

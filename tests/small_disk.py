"""Run a class run on a small disk that fills up once a result is on it, and then go on with room.

    python small_disk.py RESULTS COPIES COMMAND...

A file system of its own is mounted over the folder RESULTS, in namespaces of this process: nobody
else sees it, and it takes no privileges. COPIES gets two folders: `full`, with what was there when
COMMAND had ended, and `done`, after COMMAND --resume. Prints both exit codes and what both wrote to
standard error, as JSON. Ends with NO_DISK, and says why, where namespaces are not allowed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from grader.worker import linux

SIZE = "4m"  # some files of results have room, and filling the rest takes a millisecond
BLOCK = 4096
NO_DISK = 77


def mount(folder: Path) -> None:
    try:
        linux.own_mounts()
        linux.mount("none", folder, "tmpfs", data=f"size={SIZE}")
    except OSError as error:
        print(f"no file system of its own: {error.strerror}", file=sys.stderr)
        sys.exit(NO_DISK)


def graded(results: Path, copies: Path, command: list[str]) -> dict[str, object]:
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while run.poll() is None and not list(results.glob("results/*.json")):
        time.sleep(0.01)
    with suppress(OSError), (results / "ballast").open("wb", buffering=0) as ballast:
        while True:
            ballast.write(bytes(BLOCK))
    _, full = run.communicate()
    shutil.copytree(results, copies / "full", ignore=shutil.ignore_patterns("ballast"))
    (results / "ballast").unlink()
    again = subprocess.run([*command, "--resume"], capture_output=True, text=True)
    shutil.copytree(results, copies / "done")
    codes = [run.returncode, again.returncode]
    return {"codes": codes, "said": [full, again.stderr]}


if __name__ == "__main__":
    disk = Path(sys.argv[1])
    mount(disk)
    print(json.dumps(graded(disk, Path(sys.argv[2]), sys.argv[3:])))

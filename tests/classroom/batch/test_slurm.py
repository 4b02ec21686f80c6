"""A small class on a real Slurm: two nodes on this machine, and dask-jobqueue between.

apt-get install slurm-wlm munge
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from grader.model import parse_class

pytestmark = pytest.mark.slow

NEEDED = ("slurmctld", "slurmd", "munged", "sbatch", "sinfo")
TOY = Path(__file__).parents[2] / "courses/toy"
PLACE = "puzzles/p01_double/kernel.py"
STUDENTS = 6
PATIENCE_S = 300

CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
SlurmctldPort={ports[0]}
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1 RealMemory=4000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1 RealMemory=4000
PartitionName=all Nodes=n1,n2 Default=YES State=UP MaxTime=INFINITE
"""

CLUSTER = """
system = "slurm"
jobs = 2

[options]
cores = 1
processes = 1
memory = "2GB"
log_directory = "{folder}/jobs"
"""


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@pytest.fixture
def slurm(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Start two nodes of one core each; yield the variable that leads to them."""
    if missing := [name for name in NEEDED if shutil.which(name) is None]:
        pytest.skip(f"{missing[0]} is not installed: `apt-get install slurm-wlm munge`")
    if os.geteuid() != 0:
        pytest.skip("Slurm's daemons are started as root here")
    for name in ("state", "spool.n1", "spool.n2", "jobs"):
        (tmp_path / name).mkdir()
    key = tmp_path / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    host = socket.gethostname().partition(".")[0]
    conf = tmp_path / "slurm.conf"
    values = {"host": host, "user": "root", "folder": tmp_path, "ports": free_ports(3)}
    conf.write_text(CONF.format(**values), encoding="utf-8")
    variables = {"SLURM_CONF": str(conf)}
    files = [f"--{what}-file={tmp_path}/munge.{what}" for what in ("key", "log", "pid", "seed")]
    commands = [
        ["munged", "--foreground", "--force", f"--socket={tmp_path}/munge.sock", *files],
        ["slurmctld", "-D"],
        *(["slurmd", "-D", "-N", node] for node in ("n1", "n2")),
    ]
    daemons = []
    before = steps()
    try:
        for command in commands:
            daemons.append(
                subprocess.Popen(
                    command,
                    env=os.environ | variables,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
            time.sleep(1)
        wait_for_nodes(variables)
        yield variables
    finally:
        for daemon in reversed(daemons):  # a node that is asked to end takes half a minute
            daemon.kill()
            daemon.wait()
        for step in steps() - before:  # of cancelled jobs, which outlive their node
            step.kill()


def steps() -> set[psutil.Process]:
    """Return the processes of Slurm that each look after a step of a job."""
    return {one for one in psutil.process_iter(["name"]) if one.info["name"] == "slurmstepd"}


def wait_for_nodes(variables: dict[str, str]) -> None:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        command = ["sinfo", "--noheader", "--format=%T %D"]
        said = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True)
        if said.stdout.strip() == "idle 2":
            return
        time.sleep(0.5)
    raise AssertionError(f"Slurm's nodes are not idle: {said.stdout} {said.stderr}")


def test_a_class_is_graded_by_two_nodes_of_slurm(tmp_path: Path, slurm: dict[str, str]):
    rows = ["login"]
    for number in range(STUDENTS):
        rows.append(f"s{number}")
        kernel = tmp_path / "submissions" / f"s{number}" / PLACE
        kernel.parent.mkdir(parents=True)
        solution = (TOY / "solutions/p01_double/kernel.py").read_text(encoding="utf-8")
        kernel.write_text(f"{solution}\n# {number}\n", encoding="utf-8")
    roster, file = tmp_path / "roster.csv", tmp_path / "cluster.toml"
    roster.write_text("\n".join(rows) + "\n", encoding="utf-8")
    file.write_text(CLUSTER.format(folder=tmp_path), encoding="utf-8")
    command = [sys.executable, "-m", "grader.cli", "grade", str(tmp_path / "submissions")]
    named = ["--roster", str(roster), "--out", str(tmp_path / "out"), "--cluster", str(file)]
    done = subprocess.run(
        command + named,
        cwd=TOY,
        env=os.environ | slurm,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    run = parse_class((tmp_path / "out/class.json").read_bytes(), "class.json")
    assert [row.cells[0].points for row in run.rows] == [6] * STUDENTS
    assert len(list((tmp_path / "jobs").glob("*.err"))) == 2

"""The dask cluster that grades: this machine by default, a scheduler that runs, or a batch system.

A file for `--cluster` names the batch system and what its cluster in dask-jobqueue takes:

    system = "slurm"
    jobs = 4

    [options]
    cores = 8
    processes = 8
    memory = "64GB"
    job_extra_directives = ["--gres=gpu:1"]
"""

from __future__ import annotations

import os
import signal
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from grader.machine import nvml
from grader.model import CannotGrade, UsageError

SYSTEMS = {
    "slurm": "SLURMCluster",
    "pbs": "PBSCluster",
    "sge": "SGECluster",
    "lsf": "LSFCluster",
    "oar": "OARCluster",
    "moab": "MoabCluster",
    "htcondor": "HTCondorCluster",
}
LANE_MEMORY = 3 << 30  # bytes of the machine's memory that a judge with its workers may take
# Cores that stay free for a measurement while workers of other GPUs compare: for its judge, the
# learner's and the reference's process, and the run itself. Where all cores were busy, processes
# that were measured woke late, and the judge's clock took that for their time: a share of 0.635 was
# as low as 0.614 on one of four H100s with 16 cores each (bench/results/grade_gpus_h100.json).
MEASURING_CORES = 4
# On a host with GPUs. The driver makes one CUDA context after the other, for all processes and GPUs
# (bench/results/contexts_h100.json). Four H100s graded 20.1 kernels a minute with 32 workers, whose
# first parts took 15.8 s in the median, and 21.0 with 24, whose first parts took 11.7 s (four_h100s
# in bench/results/grade_gpus.json).
MOST_WITH_GPUS = 24
START_S = 60.0  # for a client to reach a scheduler
# Whatever a user's own dask configuration says: a lane is one process with children of its own,
# which may use all memory, and what is done again is decided here.
CONFIG: Mapping[str, Any] = {
    "distributed.worker.daemon": False,
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.worker-saturation": 1.0,
    "distributed.comm.compression": False,
    "distributed.comm.timeouts.connect": "30s",
    "distributed.diagnostics.nvml": False,
    "distributed.admin.tick.limit": "1h",
    # For a machine that falls silent. Dask looks once in this time, so it may take twice as long.
    "distributed.scheduler.worker-ttl": "60s",
}


def require_dask() -> None:
    """Raise CannotGrade where the packages for clusters are missing."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise CannotGrade(
            "A class is graded with dask, which is not installed here.",
            "pip install 'kernel-grader[cluster]'",
        ) from None


@contextmanager
def local(jobs: int | None, device: str) -> Iterator[Any]:
    """Yield a client of a cluster on this machine: `jobs` workers, else as many as fit."""
    from distributed import LocalCluster

    with _configured(), _ignoring_interrupts():
        try:
            cluster = LocalCluster(
                n_workers=jobs or workers_here(device),
                threads_per_worker=1,
                processes=True,
                dashboard_address=None,
                memory_limit=0,
                silence_logs=50,
                host="127.0.0.1",
            )
        except (RuntimeError, OSError) as error:
            raise CannotGrade(
                f"The workers could not start: {str(error)[:200]}",
                "Run the command again with --resume, or with fewer workers: --jobs N.",
            ) from None
    with _closing(cluster), _client(cluster) as client:
        yield client


@contextmanager
def scheduler(address: str) -> Iterator[Any]:
    """Yield a client of the scheduler at an address. Raises CannotGrade."""
    import asyncio

    try:
        asyncio.run(_reach(address))
    except (OSError, ValueError) as error:
        raise CannotGrade(
            f"The scheduler {address} does not answer: {str(error)[:200]}.",
            "See that it runs and that this machine reaches it; or leave out --scheduler.",
        ) from None
    with _client(address) as client:
        yield client


async def _reach(address: str) -> None:
    """Connect once. A client that never connected would wait for minutes when it is closed."""
    from distributed.comm import connect

    comm = await connect(address, timeout=START_S)
    await comm.close()


@contextmanager
def queued(named: str, jobs: int | None) -> Iterator[Any]:
    """Yield a client of workers that run as jobs of a batch system. Raises UsageError.

    `named` is a file, or a system that dask's own configuration describes.
    """
    system, own_jobs, options = (named, 1, {}) if named in SYSTEMS else read(Path(named))
    try:
        import dask_jobqueue
    except ImportError:
        raise CannotGrade(
            "Batch systems need dask-jobqueue, which is not installed here.",
            "pip install 'kernel-grader[cluster]'",
        ) from None
    quiet = {"scheduler_options": {"dashboard_address": ":0"}}
    with _configured():
        try:
            cluster = getattr(dask_jobqueue, SYSTEMS[system])(**quiet | options)
        except (TypeError, ValueError, RuntimeError) as error:
            raise UsageError(
                f"{named}: {system} does not take these options: {error}.",
                "docs/grade.md shows such files.",
            ) from None
        cluster.scale(jobs=jobs or own_jobs)
    with _closing(cluster), _client(cluster) as client:
        yield client


def read(file: Path) -> tuple[str, int, dict[str, Any]]:
    """Read a file for `--cluster`: the system, the number of jobs, and its options.

    Raises UsageError.
    """
    try:
        entries = tomllib.loads(file.read_text(encoding="utf-8"))
        system, jobs = entries.pop("system", None), entries.pop("jobs", 1)
        options = entries.pop("options", {})
        if not isinstance(system, str) or system not in SYSTEMS:
            named = f"its system is {system!r}" if system else "it names no system"
            raise ValueError(f"{named}; one of {', '.join(SYSTEMS)}")
        if type(jobs) is not int or jobs < 1 or not isinstance(options, dict) or entries:
            raise ValueError("it has system, jobs = 4 and the table [options], and nothing else")
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read: {error.strerror}.",
            f"Name a file that describes a cluster, or one of {', '.join(SYSTEMS)}.",
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValueError) as error:
        raise UsageError(
            f"{file} describes no cluster: {error}.", "docs/grade.md shows such files."
        ) from None
    return system, jobs, options


def workers_here(device: str) -> int:
    gpus = [] if device == "cpu" else nvml.visible(os.environ.get(nvml.VISIBLE))
    cores = len(os.sched_getaffinity(0))  # a job of a cluster may use some of the machine's
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return worker_count(cores, memory, len(gpus))


def worker_count(cores: int, memory: int, gpus: int) -> int:
    """Count the workers of a machine with so many bytes of memory: at least one for each GPU.

    There is one for each core, if memory suffices; with GPUs at most MOST_WITH_GPUS. With several
    GPUs some cores stay free: one GPU measures while workers of the others compare. With one GPU
    nothing else is graded meanwhile.
    """
    free = MEASURING_CORES * gpus if gpus > 1 else 0
    most = MOST_WITH_GPUS if gpus else cores
    return max(1, gpus, min(most, cores - free, memory // LANE_MEMORY))


@contextmanager
def _configured() -> Iterator[None]:
    import dask

    with dask.config.set(dict(CONFIG)):
        yield


@contextmanager
def _client(where: object) -> Iterator[Any]:
    from distributed import Client

    with _configured():
        client = Client(where, timeout=START_S, set_as_default=False)
        try:
            yield client
        finally:
            with suppress(Exception):
                client.close(timeout=5)


@contextmanager
def _closing(cluster: Any) -> Iterator[None]:
    try:
        yield
    finally:
        with suppress(Exception):
            cluster.close(timeout=10)


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Start processes that a Ctrl-C in the terminal does not reach; we end them ourselves."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

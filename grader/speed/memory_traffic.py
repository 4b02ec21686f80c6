"""The bytes that this GPU's memory moves for one call of the scored case, by hardware counters.

A profiler's process cannot stand behind the walls of a worker, so nothing of the learner's may run
in it on the CPU. A worker behind its walls calls the kernel file, and sends the machine code, grids
and parameters of its launches. `grader.worker.repeated_launches` makes these again below `ncu`, on
new inputs. The judge compares a secret sample of the outputs with what they must be: launches that
leave out work are worth nothing.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from grader.model import Case, Recording, Spec
from grader.sandbox import CudaArena, ForkServer, KernelFailure, WorkerLink, commands, entry_of
from grader.speed import clock, ncu
from grader.speed.ncu import DRAM_READ, DRAM_WRITTEN, NotCounted, total
from grader.speed.scored_case import arena_bytes, scored_case
from grader.speed.slots import Plan, Slots

LIMIT_S = 60.0  # ncu starts in some seconds, and counts each launch in one pass


@dataclass(frozen=True)
class Moved:
    """Bytes that all launches of one call read from the GPU's memory and wrote to it.

    `needed` has, for each tensor, the bytes of one pass over what the inputs ask for.
    """

    case: Case
    needed: Mapping[str, int]
    launches: int
    read: int
    written: int


def moved(spec: Spec, kernel: bytes, workers: ForkServer, rows: int) -> Moved:
    """Count one call of so many rows.

    Raises NotCounted where it cannot be counted, and KernelFailure when the call goes wrong.
    """
    case = scored_case(spec, rows)
    with closing(CudaArena(arena_bytes(spec, rows, 1))) as arena:
        slots = Slots(spec, case, 1, arena.memory)
        plan = slots.plan()
        recording = recorded(WorkerLink(entry_of(spec), kernel, workers, arena), slots, plan)
        _, contents = slots.refill(slots.again(plan))
        launched = _repeated(recording, arena)
        if not contents.outputs_right():
            raise NotCounted("its launches alone do not make the right output")
    if len(launched) != len(recording.launches):
        raise NotCounted(f"{len(launched)} of {len(recording.launches)} launches were counted")
    read, written = (round(total(launched, metric)) for metric in (DRAM_READ, DRAM_WRITTEN))
    return Moved(case, slots.needed, len(launched), read, written)


def recorded(kernel: WorkerLink, slots: Slots, plan: Plan) -> Recording:
    """Have a worker call the kernel, and return the launches of a second call.

    The first one loads, compiles and tunes. Raises NotCounted where the launches are not all of the
    call, and KernelFailure when it goes wrong.
    """
    with closing(kernel):
        slots.refill(plan)
        kernel.call(plan.calls)
        _, contents = slots.refill(plan)
        recording = kernel.record(plan.calls[0])
        if not contents.outputs_right():
            raise KernelFailure(clock.wrong_output(contents))
    if recording.refused:
        raise NotCounted(recording.refused)
    if not recording.launches:
        raise NotCounted("it starts no kernel that can be recorded")
    return recording


def _repeated(recording: Recording, arena: CudaArena) -> list[ncu.Launch]:
    with commands.private_home() as home:
        call = asdict(recording) | {"arena": arena.ticket()["size"]}
        (home / "call.json").write_text(json.dumps(call))
        program = commands.program("grader.worker.repeated_launches", str(home))
        with handing_over(arena.fd, home / "arena"):
            return ncu.count(program, home, ncu.REQUIRED, LIMIT_S)


@contextmanager
def handing_over(descriptor: int | None, path: Path) -> Iterator[None]:
    """Give a descriptor to the first process that connects to a socket at this path.

    A profiler stands between the judge and that process, and may close what it inherits. Raises
    NotCounted where the socket cannot be made.
    """
    assert descriptor is not None
    with socket.socket(socket.AF_UNIX) as listener:
        try:
            listener.bind(str(path))
        except OSError as error:  # such as a path of more than 107 bytes
            raise NotCounted(f"no socket in the temporary directory ({error})") from None
        listener.listen(1)

        def hand_over() -> None:
            with suppress(OSError), listener.accept()[0] as line:
                socket.send_fds(line, [b"a"], [descriptor])

        thread = threading.Thread(target=hand_over, daemon=True)
        thread.start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)  # ends a wait for a process that never connected
            thread.join()

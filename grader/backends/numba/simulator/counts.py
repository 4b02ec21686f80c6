"""From a log of accesses to a GPU's counters: accesses, transactions, bank conflicts.

Accesses are counted as the text has them: a compiler may read an element once where the text reads
it twice. Threads of a warp run in step. The n-th time that they reach one instruction is one
request to memory, by all threads that do so. Some threads may reach it less often: an `if` keeps
them from the last turns of a loop or, where it counts down, from the first. Requests are therefore
numbered forwards from the first time, or backwards from the last, whichever gives fewer. An atomic
update is a read and a write, in one request.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest

from grader.backends.numba.simulator.access_log import Access, Kind, Log
from grader.worker.source_sites import Place, line_of, place_of

WARP = 32  # threads, as on every CUDA GPU
# Global memory moves in pieces of 32 bytes: CUDA C++ Best Practices Guide, "Coalesced Access to
# Global Memory".
PIECE = 32
# Successive 4-byte words of shared memory lie in successive banks. Each bank serves one word at a
# time, to all threads that want it: CUDA C++ Programming Guide, compute capability 5.x, "Shared
# Memory".
BANKS, WORD = 32, 4

_PLURAL: dict[Kind, str] = {"read": "reads", "write": "writes"}

Request = list[Access]


def facts(log: Log, file: str) -> dict[str, int]:
    """Return each of the spec's COUNTS for the wire, as `counts.transactions` and so on.

    Of the worst request, `worst.transactions` is its pieces and `worst.bank_conflicts` its passes.
    `threads.` and `line.` name the number of threads that make it, and its line in the kernel
    `file` (0: none). Of the accesses of the busiest thread, `line.` names the line with the most.
    """
    inside = [access for access in log.accesses if access.address is not None]
    shared = [access for access in inside if access.whole.space == "shared"]
    elsewhere = [access for access in inside if access.whole.space != "shared"]
    counts = {"counts.barriers": log.barriers, "counts.transactions": 0, "counts.bank_conflicts": 0}
    for name, accesses in (("global", elsewhere), ("shared", shared)):
        for kind in _PLURAL:
            busiest = of_busiest_thread(accesses, kind)
            counts[f"counts.{name}_{_PLURAL[kind]}"] = len(busiest)
            if busiest:
                counts[f"line.{name}_{_PLURAL[kind]}"] = _line_with_most(busiest, file)
    for request in requests(elsewhere, pieces):
        moved = pieces(request)
        counts["counts.transactions"] += moved
        _keep_worst(counts, "transactions", moved, request, file)
    for request in requests(shared, lambda request: sum(passes(request))):
        needed = passes(request)
        counts["counts.bank_conflicts"] += sum(needed) - len(needed)
        _keep_worst(counts, "bank_conflicts", max(needed), request, file)
    return counts


def _keep_worst(
    counts: dict[str, int], count: str, value: int, request: Request, file: str
) -> None:
    if value > counts.get(f"worst.{count}", 0):
        site = request[0].site
        counts[f"worst.{count}"] = value
        counts[f"threads.{count}"] = len(request)
        counts[f"line.{count}"] = line_of(site) if site[0].co_filename == file else 0


def of_busiest_thread(accesses: Iterable[Access], kind: Kind) -> list[Access]:
    """Return the accesses of a kind, updates included, of the thread that makes the most."""
    done: dict[tuple[int, int, int], list[Access]] = defaultdict(list)
    for access in accesses:
        if access.kind in (kind, "update"):
            done[access.launch, access.block, access.thread].append(access)
    return max(done.values(), key=len, default=[])


def _line_with_most(accesses: Sequence[Access], file: str) -> int:
    """Return the line of the kernel file with the most of some accesses, the last of equals.

    It is 0 where other files have more of them.
    """
    done = Counter(
        line_of(access.site) if access.site[0].co_filename == file else 0 for access in accesses
    )
    return max(done, key=lambda line: (done[line], line))


def requests(accesses: Sequence[Access], cost: Callable[[Request], int]) -> list[Request]:
    """Group the accesses: one instruction, for the n-th time, by the threads of one warp.

    `cost` is the cost of one request.
    """
    warps: dict[tuple[object, ...], dict[int, Request]] = defaultdict(lambda: defaultdict(list))
    # By the code's id, because hashing it takes long; the log keeps the code alive.
    places: dict[tuple[int, int], Place] = {}
    for access in accesses:
        code, offset = access.site
        place = places.get((id(code), offset))
        if place is None:
            place = places[id(code), offset] = place_of(access.site)
        # `x[i] += 1` is one part of the text, and two instructions.
        instruction = (access.launch, access.block, place, access.kind)
        warps[instruction, access.thread // WARP][access.thread].append(access)
    grouped: list[Request] = []
    for threads in warps.values():
        ways = [_in_step(threads.values())]
        if len(set(map(len, threads.values()))) > 1:
            ways.append(_in_step([each[::-1] for each in threads.values()]))
            ways.sort(key=lambda way: sum(map(cost, way)))
        grouped += ways[0]
    return grouped


def _in_step(threads: Iterable[Request]) -> list[Request]:
    """Group the first accesses of all threads, the second ones, and so on."""
    return [[each for each in turn if each is not None] for turn in zip_longest(*threads)]


def pieces(request: Request) -> int:
    """Return the pieces of PIECE bytes that a request to global memory touches, and so moves."""
    return len(
        {
            (access.whole if access.whole.space == "scratch" else None, piece)
            for access in request
            if access.address is not None
            for piece in _spanned(access.whole.on_gpu(access.address), access.itemsize, PIECE)
        }
    )


def passes(request: Request) -> list[int]:
    """Return the passes over shared memory that a request needs, for each part of it.

    The banks serve 128 bytes of a warp's elements at once, a word from each bank: all elements of 4
    bytes or less, half of a warp's elements of 8 bytes, a quarter of those of 16 bytes. (The guide
    says so for compute capability 2.x, and nothing of 8 bytes for later ones.) A part needs as many
    passes as the most distinct words that it touches in one bank, and at least one.
    """
    words: dict[tuple[int, int], set[int]] = defaultdict(set)
    for access in request:
        if access.address is None:
            continue
        address = access.whole.on_gpu(access.address)
        part = access.thread % WARP * max(1, access.itemsize // WORD) // WARP
        for word in _spanned(address, access.itemsize, WORD):
            words[part, word % BANKS].add(word)
    most: dict[int, int] = defaultdict(int)
    for (part, _), different in words.items():
        most[part] = max(most[part], len(different))
    return list(most.values())


def _spanned(start: int, size: int, unit: int) -> range:
    return range(start // unit, (start + size - 1) // unit + 1)

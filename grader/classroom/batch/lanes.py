"""Workers describe themselves and become lanes; one that would grade differently is refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.classroom.batch.schedule import Lane
from grader.classroom.batch.units import Versions
from grader.model import CLOCKS_DIFFER, GraderError

CHECK_MEMORY = 4 << 30  # bytes of a GPU for each check beside others: twice what two contexts take


@dataclass(frozen=True)
class Card:
    """A GPU that a worker may use, and how many bytes of memory it has."""

    uuid: str
    model: str
    memory: int


@dataclass(frozen=True)
class Probe:
    """One worker's own description; `ahead_s` is its clock less ours, in seconds."""

    name: str
    host: str
    cards: tuple[Card, ...]
    versions: Mapping[str, str]
    rules: Mapping[str, str]
    ahead_s: float
    fault: str = ""


def parse(name: str, text: str, now: float) -> Probe:
    """Read a worker's answer to `tasks.probe`. Raises GraderError for anything else."""
    try:
        said = json.loads(text)
        return Probe(
            name=name,
            host=str(said["host"]),
            cards=tuple(Card(str(u), str(m), int(b)) for u, m, b in said["gpus"]),
            versions={str(k): str(v) for k, v in said["versions"].items()},
            rules={str(k): str(v) for k, v in said["rules"].items()},
            ahead_s=float(said["time"]) - now,
            fault=str(said["fault"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise GraderError(
            f"The worker {name} answered something that this grader does not know.",
            "Install the same kernel-grader there.",
        ) from None


def refusal(
    probe: Probe, versions: Versions, rules: Mapping[str, str], lacks_gpu: bool = False
) -> str:
    """Return why a worker must not grade, as a sentence that names it; empty where it may.

    `lacks_gpu` is of a run that simulates only because no worker had a GPU when it began.
    """
    who = f"The worker {probe.name} on {probe.host} is refused:"
    if probe.fault:
        return f"{who} {probe.fault}"
    for what, here in versions:
        there = probe.versions.get(what, "")
        if there != here:
            return f"{who} {_difference(what, there, here)}"
    other = [name for name, digest in rules.items() if probe.rules.get(name) != digest]
    if other:
        more = f" and {len(other) - 1} more" if other[1:] else ""
        return f"{who} its files of {other[0]}{more} differ from those here."
    if abs(probe.ahead_s) > CLOCKS_DIFFER.total_seconds():
        way = "ahead of" if probe.ahead_s > 0 else "behind"
        return f"{who} its clock is {abs(probe.ahead_s) / 60:.0f} min {way} this machine's."
    if lacks_gpu and probe.cards:
        began = "it has a GPU, and the first workers had none: this run simulates."
        return f"{who} {began} Stop the run, and go on with --resume: then GPUs grade."
    return ""


def _difference(what: str, there: str, here: str) -> str:
    title, version = what.replace("_", "-"), here.partition("+")[0]
    if what == "grader" and there.partition("+")[0] == version:
        return f"its {title} {version} has other files than the one here."
    return f"its {title} is {there or 'missing'}, and here it is {here or 'missing'}."


def assigned(
    probes: Iterable[Probe], before: Iterable[Lane], on_gpu: bool
) -> tuple[list[Lane], list[Probe]]:
    """Give each worker its GPU, and return the workers for which no GPU has room.

    Workers are spread over the GPUs that they may use: on each as many as its memory allows.
    """
    lanes, idle, crowd = [], [], Counter(lane.gpu for lane in before if lane.gpu)
    for probe in probes:
        if not on_gpu:
            lanes.append(Lane(probe.name, host=probe.host))
            continue
        free = [one for one in probe.cards if crowd[one.uuid] < _most(one)]
        if not free:
            idle.append(probe)
            continue
        card = min(free, key=lambda one: crowd[one.uuid])
        crowd[card.uuid] += 1
        lanes.append(Lane(probe.name, card.uuid, card.model, probe.host))
    return lanes, idle


def _most(card: Card) -> int:
    return max(1, card.memory // CHECK_MEMORY)


def described(lanes: Sequence[Lane]) -> str:
    """Return such as `16 workers on 2 GPUs (NVIDIA H200)`."""
    count = f"{len(lanes)} worker{'s' * (len(lanes) != 1)}"
    gpus = {lane.gpu for lane in lanes if lane.gpu}
    if not gpus:
        return f"{count} without a GPU"
    models = ", ".join(sorted({lane.model for lane in lanes}))
    return f"{count} on {len(gpus)} GPU{'s' * (len(gpus) != 1)} ({models})"

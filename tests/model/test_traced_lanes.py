"""The accesses of lanes as a message: nothing in it may name what it does not hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grader.model.channel import WireError
from grader.model.device_report import DeviceReport
from grader.model.traced import ArrayRef, LaunchRef
from grader.model.traced_lanes import MOST_ACTS, OperationRef, StepRef, TracedLanes

TOLD = TracedLanes(
    launches=(LaunchRef("f", (2, 1, 1), (4, 1, 1)), LaunchRef("g", (1, 1, 1), (1, 1, 1))),
    arrays=(ArrayRef("x", "argument", (3, 2), "float32"), ArrayRef("s", "scratch", (), "int32")),
    steps=(StepRef(0), StepRef(0, ((9, 0), (11, 4))), StepRef(1)),
    operations=(
        OperationRef(0, "load", 7, "x", (4,), "float32"),
        OperationRef(0, "reduce", 8, "top", (), "float32"),
        OperationRef(1, "atomic", 0, "", (), "int32"),
    ),
    acts=((0, 1, 0, 3, 1, -5, 0), (1, 0, 1, 1, 0, 0, 0), (2, 0, 2, 1, 0, 0, 1)),
    accesses=((0, 2, 0, 0, -(2**63), 5, -1), (1, 0, -1, 0, 7), (2, 0, 1, 2, 1)),
    cut=4,
)


def sent(**changes: Any) -> dict[str, Any]:
    message = json.loads(json.dumps(DeviceReport(seq=1, lanes=TOLD).dump()))
    message["lanes"] |= changes
    return message


def test_lanes_cross_the_wire():
    assert DeviceReport.parse(sent()).lanes == TOLD
    assert DeviceReport.parse({"seq": 1}).lanes is None


@pytest.mark.parametrize(
    "changes",
    [
        {"acts": [[3, 0, 0, 1, 0, 0, 0]]},  # no such step
        {"acts": [[0, 2, 0, 1, 0, 0, 0]]},  # no such program
        {"acts": [[0, 0, 3, 1, 0, 0, 0]]},  # no such operation
        {"acts": [[0, 0, 2, 1, 0, 0, 0]]},  # of another launch
        {"acts": [[0, 0, 0, 5, 0, 0, 0]]},  # more lanes than there are
        {"acts": [[0, 0, 0, 1, 3, 0, 0]]},
        {"acts": [[0, 0, 0, 1, 0, 0, 2]]},
        {"acts": [[0, 0, 0, 1, 0, 0]]},
        {"acts": [[0, 0, 0, 1.0, 0, 0, 0]]},
        {"acts": [TOLD.acts[0]] * (MOST_ACTS + 1)},
        {"accesses": [[3, 0, 0, 0, 0, 0, 0]]},  # no such act
        {"accesses": [[0, 4, 0, 0, 0, 0, 0]]},  # no such lane
        {"accesses": [[0, 0, 2, 0, 0, 0, 0]]},  # no such array
        {"accesses": [[0, 0, 0, 0, 0, 0]]},  # another number of axes
        {"accesses": [[0, 0, 0, 1, 0, 0, 0]]},  # no such fault
        {"accesses": [[0, 0, 0, 0, 2**63, 0, 0]]},  # more than 64 bits
        {"accesses": [[0, 0, -1, 0, 0]]},  # a load of nothing
        {"accesses": [[1, 0, 0, 0, 0, 0, 0]]},  # a reduction of an array
        {"accesses": [TOLD.accesses[0]] * 8001},
        {"steps": [{"launch": 2, "loops": []}]},
        {"steps": [{"launch": 0, "loops": [[1]]}]},
        {"operations": [{**vars(TOLD.operations[0]), "kind": "write"}]},
        {"operations": [{**vars(TOLD.operations[0]), "shape": [-1]}]},
        {"launches": []},
        {"cut": -1},
        {"arrays": None},
    ],
    ids=str,
)
def test_lanes_of_another_form_are_refused(changes: dict[str, Any]):
    with pytest.raises(WireError):
        DeviceReport.parse(sent(**changes))


def test_the_names_of_a_kernel_are_cleaned():
    report = DeviceReport.parse(
        sent(launches=[{**vars(TOLD.launches[0]), "kernel": "a\n\x1b[2J"}] * 2)
    )
    assert report.lanes is not None
    assert report.lanes.launches[0].kernel.isprintable()

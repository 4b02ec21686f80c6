"""The reports of simulated devices: read as strictly as a worker's replies."""

from __future__ import annotations

import json

import pytest

from grader.model.channel import WireError
from grader.model.device_report import MOST_ORIGINS, DeviceReport, Origin
from grader.model.sightings import Sightings, Touched
from grader.model.traced import LaunchRef

ORIGINS = (Origin("out", 31, "x"), Origin("", 12, "ticket", "tickets_ptr", 3))


def test_the_origins_of_undefined_values_cross_whole():
    report = DeviceReport(seq=3, origins=ORIGINS)
    assert DeviceReport.parse(json.loads(json.dumps(report.dump()))) == report
    many = DeviceReport(seq=3, origins=ORIGINS * MOST_ORIGINS)
    parsed = DeviceReport.parse(json.loads(json.dumps(many.dump())))
    assert len(parsed.origins) == MOST_ORIGINS


@pytest.mark.parametrize("field", [{"line": -1}, {"line": "3"}, {"element": 2**64}, {"name": 3}])
def test_origins_of_another_form_are_no_report(field: dict[str, object]):
    message = json.loads(json.dumps(DeviceReport(seq=3, origins=ORIGINS).dump()))
    message["origins"][1] |= field
    with pytest.raises(WireError):
        DeviceReport.parse(message)


def test_the_names_in_origins_are_cleaned():
    report = DeviceReport(seq=3, origins=(Origin("out", 1, "x\n\x1b[2J"),))
    [origin] = DeviceReport.parse(json.loads(json.dumps(report.dump()))).origins
    assert "\n" not in origin.name
    assert "\x1b" not in origin.name


def test_a_combination_that_is_none_is_no_report():
    message = json.loads(json.dumps(DeviceReport(seq=3, origins=ORIGINS).dump()))
    message["origins"][0]["combined"] = "mixture"
    with pytest.raises(WireError):
        DeviceReport.parse(message)


SIGHTINGS = Sightings(
    (LaunchRef("kernel", (2, 1, 1), (128, 1, 1)),),
    (Touched(3, "read", "x", ((0, 4), (6, 8)), 4, True, 2), Touched(5, "write", "out", ((0, 4),))),
    {"out": ((1, 2),)},
    cut=True,
)


def test_what_a_device_saw_crosses_whole():
    report = DeviceReport(seq=3, sightings=SIGHTINGS)
    assert DeviceReport.parse(json.loads(json.dumps(report.dump()))) == report


@pytest.mark.parametrize(
    "field",
    [
        {"line": -1},
        {"kind": "writes"},
        {"runs": [[3, 3]]},
        {"runs": [[-1, 3]]},
        {"runs": [[0, 1, 2]]},
        {"lanes": "4"},
        {"array": 3},
    ],
)
def test_sightings_of_another_form_are_no_report(field: dict[str, object]):
    message = json.loads(json.dumps(DeviceReport(seq=3, sightings=SIGHTINGS).dump()))
    message["sightings"]["touched"][1] |= field
    with pytest.raises(WireError):
        DeviceReport.parse(message)

"""The kernels that a message lists, for compilers: whole, of known options, and not too many."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from grader.model.channel import WireError
from grader.model.device_report import DeviceReport
from grader.model.messages import Reply
from grader.model.specialisations import MOST_SPECIALISATIONS, BuildOptions, Specialisation, listed

KERNELS = (Specialisation("add", "module {}\n", BuildOptions(num_warps=8, maxnreg=64)),)


@pytest.mark.parametrize(
    "report", [DeviceReport(3, kernels=KERNELS, unlisted=2), Reply(3, kernels=KERNELS, unlisted=2)]
)
def test_launched_kernels_cross_whole(report: DeviceReport | Reply):
    assert type(report).parse(json.loads(json.dumps(report.dump()))) == report


def test_as_many_kernels_are_sent_as_a_message_holds():
    one, many = KERNELS[0], KERNELS * (MOST_SPECIALISATIONS + 1)
    large = replace(one, text="\n" * 50)  # in JSON 102 bytes
    assert listed([large, large, one], 250) == ((large, large, one), 0)
    assert listed([large, large, one], 203) == ((large,), 2)
    assert listed([replace(large, trial=True), one], 50) == ((one,), 0)
    assert listed(many, 1 << 20) == (many[:-1], 1)


@pytest.mark.parametrize(
    "options",
    [
        {"num_warps": 64},
        {"num_ctas": -1},
        {"num_stages": "3"},
        {"maxnreg": 2.0},
        {"maxnreg": True},
        {"shared": -1},
    ],
)
def test_options_of_another_form_are_no_report(options: dict[str, object]):
    message = json.loads(json.dumps(DeviceReport(seq=3, kernels=KERNELS).dump()))
    DeviceReport.parse(message)
    message["kernels"][0]["options"] |= options
    with pytest.raises(WireError):
        DeviceReport.parse(message)


def test_nobody_lists_more_kernels_than_it_may():
    many = KERNELS * (MOST_SPECIALISATIONS + 1)
    for report in (DeviceReport(3, kernels=many), Reply(3, kernels=many)):
        with pytest.raises(WireError):
            type(report).parse(json.loads(json.dumps(report.dump())))

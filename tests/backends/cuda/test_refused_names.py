"""Names of cuda.core that a kernel file may not use."""

from __future__ import annotations

import pytest
from cuda import core
from cuda.core import graph

from grader.backends.cuda import refused_names
from grader.backends.cuda.refusals import LaunchRefused

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "ObjectCode", core.ObjectCode)
    monkeypatch.setattr(graph, "GraphDefinition", graph.GraphDefinition)
    builder = core.Device.create_graph_builder
    monkeypatch.setattr(core.Device, "create_graph_builder", builder)
    refused_names.install()


@pytest.mark.parametrize("name", refused_names.READY_MADE)
def test_machine_code_is_not_loaded(name: str):
    assert hasattr(core.ObjectCode.__base__, name)
    with pytest.raises(LaunchRefused, match=f"ObjectCode.{name} loads machine code"):
        getattr(core.ObjectCode, name)(b"code", name="mine")


@pytest.mark.parametrize(
    "record", [lambda: graph.GraphDefinition(), lambda: core.Device.create_graph_builder(None)]
)
def test_no_graph_is_begun(record):
    with pytest.raises(LaunchRefused, match=r"a graph of cuda\.core"):
        record()

"""A worker finds the node of its own GPU, and no other GPU's, in a made-up /dev and /proc."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.worker.gpu_nodes import gpu_nodes

UUIDS = ("GPU-aaaa", "GPU-bbbb", "GPU-cccc")
ALL = {"nvidia0", "nvidia1", "nvidia2", "dri"}
DRIVERS_OWN = {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"}


@pytest.fixture
def machine(tmp_path: Path) -> tuple[Path, Path]:
    """Make the folder of devices, and the driver's of GPUs: of three, in another order."""
    devices, driver = tmp_path / "dev", tmp_path / "gpus"
    devices.mkdir()
    for name in DRIVERS_OWN:
        (devices / name).touch()
    for minor, uuid in enumerate(UUIDS):
        (devices / f"nvidia{minor}").touch()
        folder = driver / f"0000:{9 - minor}:00.0"
        folder.mkdir(parents=True)
        text = f"Model: \t\t NVIDIA H100\nGPU UUID: \t {uuid}\nDevice Minor: \t {minor}\n"
        (folder / "information").write_text(text)
    return devices, driver


@pytest.mark.parametrize(
    ("visible", "shown"),
    [
        pytest.param("GPU-bbbb", {"nvidia1"}, id="its own"),
        pytest.param("GPU-cccc, GPU-aaaa", {"nvidia0", "nvidia2"}, id="both that it may use"),
        pytest.param(None, ALL, id="all where none is named"),
        pytest.param("1", ALL, id="CUDA's numbers are not minors"),
        pytest.param("MIG-bbbb", ALL, id="a part of a GPU has no own node"),
    ],
)
def test_a_worker_finds_the_nodes_of_the_gpus_that_are_named(
    machine: tuple[Path, Path],
    visible: str | None,
    shown: set[str],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert {node.name for node in gpu_nodes(*machine)} == DRIVERS_OWN | shown


def test_all_nodes_are_found_where_the_driver_lists_nothing(
    machine: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    devices, _ = machine
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", UUIDS[0])
    nodes = {node.name for node in gpu_nodes(devices, tmp_path / "nothing")}
    assert nodes == DRIVERS_OWN | ALL


def test_all_nodes_are_found_where_the_driver_s_file_cannot_be_read(
    machine: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
):
    """An error would cost the worker the whole wall around its files."""
    devices, driver = machine
    for file in driver.glob("*/information"):
        file.unlink()
        file.mkdir()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", UUIDS[0])
    assert {node.name for node in gpu_nodes(devices, driver)} == DRIVERS_OWN | ALL

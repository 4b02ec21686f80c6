"""Triton's runtime with the simulated GPU's driver: what reaches the device, style by style."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from fake_device import FakeDevice, simulated_gpu
from triton.runtime.errors import OutOfResources
from triton.tools.tensor_descriptor import TensorDescriptor

from grader.backends.triton.driver import host
from grader.backends.triton.driver.arguments import flattened
from grader.backends.triton.driver.errors import DeviceError, LaunchRefused, NotSimulated
from grader.backends.triton.driver.launcher import Line
from grader.worker import faults


class Gpu(NamedTuple):
    device: FakeDevice
    line: Line
    arena: torch.Tensor

    def tensor(self, length: int = 16, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Return a tensor that lies in the arena."""
        return self.arena[: length * dtype.itemsize].view(dtype)

    @property
    def last(self) -> dict:
        return self.device.launches[-1]


@pytest.fixture
def gpu(tmp_path: Path) -> Iterator[Gpu]:
    for kernel in globals().values():
        if isinstance(kernel, triton.JITFunction):
            kernel.device_caches.clear()  # they hold the lines of earlier tests
    with simulated_gpu(tmp_path) as (device, line, arena):
        yield Gpu(device, line, arena)


@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=inside), mask=inside)


def test_a_launch_is_one_message(gpu: Gpu):
    x = gpu.tensor()
    copy[(2,)](x, x, 12, BLOCK=8)
    mapped, launch = gpu.device.messages
    assert mapped["op"] == "map"
    assert mapped["arena"] == gpu.arena.data_ptr()
    assert (launch["kernel"], launch["grid"], launch["warps"]) == ("copy", [2, 1, 1], 4)
    assert launch["arguments"] == [
        {"pointer": x.data_ptr()},
        {"pointer": x.data_ptr()},
        {"integer": 12},
    ]
    assert launch["storages"] == []
    assert "tt.func public @copy(" in launch["ttir"]
    assert __file__ in launch["ttir"]


def test_the_text_is_sent_once(gpu: Gpu):
    x = gpu.tensor()
    for n in (3, 5):
        copy[(1,)](x, x, n, BLOCK=8)
    copy[(1,)](x, x, 5, BLOCK=16)
    first, second, other = gpu.device.launches
    assert (first["digest"], second["ttir"]) == (second["digest"], None)
    assert other["ttir"] is not None
    assert [one["seq"] for one in gpu.device.launches] == [1, 2, 3]


@pytest.mark.parametrize(
    ("grid", "sent"),
    [((3,), [3, 1, 1]), ((3, 4), [3, 4, 1]), ([3, 4, 5], [3, 4, 5]), ((np.int64(2),), [2, 1, 1])],
)
def test_grids(gpu: Gpu, grid, sent):
    copy[grid](gpu.tensor(), gpu.tensor(), 12, BLOCK=8)
    assert gpu.last["grid"] == sent


def test_a_grid_of_the_arguments(gpu: Gpu):
    copy[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](
        gpu.tensor(), gpu.tensor(), 100, BLOCK=8
    )
    assert gpu.last["grid"] == [13, 1, 1]


@pytest.mark.parametrize("grid", [(0,), (3, 0), (-1,)])
def test_an_empty_grid_starts_nothing(gpu: Gpu, grid):
    copy[grid](gpu.tensor(), gpu.tensor(), 12, BLOCK=8)
    assert gpu.device.launches == []


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ((1, 65536), "has at most 65535 programs in y, and this one asks for 65536"),
        ((1, 1, 65536), "has at most 65535 programs in z, and this one asks for 65536"),
        ((65536, 65535), "does not start: Triton's launcher multiplies its sizes in 32 bits"),
    ],
)
def test_a_grid_that_no_gpu_takes(gpu: Gpu, grid, message):
    with pytest.raises(LaunchRefused, match=message):
        copy[grid](gpu.tensor(), gpu.tensor(), 12, BLOCK=8)


def test_a_grid_beyond_32_bits(gpu: Gpu):
    with pytest.raises(OverflowError):
        copy[(2**31,)](gpu.tensor(), gpu.tensor(), 12, BLOCK=8)
    copy[(2**31 - 1,)](gpu.tensor(), gpu.tensor(), 12, BLOCK=8)
    assert gpu.last["grid"] == [2**31 - 1, 1, 1]


def test_a_float_is_no_grid(gpu: Gpu):
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        copy[(12 / 8,)](gpu.tensor(), gpu.tensor(), 12, BLOCK=8)


@triton.jit
def scalars(out, a, b, c):
    tl.store(out, a.to(tl.float32) + b.to(tl.float32) + c.to(tl.float32))


@pytest.mark.parametrize(
    ("value", "type_", "sent"),
    [
        (2, "i32", {"integer": 2}),
        (2**40, "i64", {"integer": 2**40}),
        (2**63, "i64", {"integer": -(2**63)}),
        (True, "i1", {"integer": 1}),
        (2.5, "f32", {"float": 2.5}),
        (float("-inf"), "f32", {"float": "-inf"}),
        (float("nan"), "f32", {"float": "nan"}),
    ],
)
def test_scalars(gpu: Gpu, value, type_, sent):
    scalars[(1,)](gpu.tensor(), value, 7, 0.5)
    assert gpu.last["arguments"][1] == sent
    assert f"%a: {type_}" in gpu.last["ttir"]


@triton.jit
def annotated(out, scale: tl.float64, n: tl.int64):
    tl.store(out, (scale + n).to(tl.float32))


def test_annotations_give_the_width(gpu: Gpu):
    annotated[(1,)](gpu.tensor(), 1, 3)
    assert gpu.last["arguments"][1:] == [{"float": 1.0}, {"integer": 3}]
    assert "%scale: f64" in gpu.last["ttir"]
    assert "%n: i64" in gpu.last["ttir"]


@triton.jit
def optional(x, bias, out, HAS_BIAS: tl.constexpr):
    value = tl.load(x)
    if bias is not None:
        value += tl.load(bias)
    tl.store(out, value)


def test_none_and_one_are_constants(gpu: Gpu):
    x = gpu.tensor()
    optional[(1,)](x, None, x, HAS_BIAS=False)
    assert gpu.last["arguments"] == [{"pointer": x.data_ptr()}] * 2
    copy[(1,)](x, x, 1, BLOCK=8)
    assert gpu.last["arguments"] == [{"pointer": x.data_ptr()}] * 2


@pytest.mark.parametrize(
    ("dtype", "type_"),
    [
        (torch.float32, "f32"),
        (torch.float16, "f16"),
        (torch.bfloat16, "bf16"),
        (torch.float64, "f64"),
        (torch.float8_e4m3fn, "f8E4M3FN"),
        (torch.float8_e5m2, "f8E5M2"),
        (torch.int8, "i8"),
        (torch.uint8, "i8"),
        (torch.int16, "i16"),
        (torch.int32, "i32"),
        (torch.int64, "i64"),
        (torch.bool, "i1"),
    ],
)
def test_dtypes(gpu: Gpu, dtype, type_):
    x = gpu.tensor(dtype=dtype)
    copy[(1,)](x, x, 12, BLOCK=8)
    assert f"%x: !tt.ptr<{type_}>" in gpu.last["ttir"]


def test_memory_seen_as_another_dtype(gpu: Gpu):
    x = torch.zeros(16, dtype=torch.int8, device="cuda")
    seen = triton.reinterpret(x, tl.float8e5)
    copy[(1,)](seen, x.view(torch.float8_e5m2), 12, BLOCK=8)
    assert gpu.last["ttir"].count("%x: !tt.ptr<f8E5M2>") == 1
    assert gpu.last["ttir"].count("%out: !tt.ptr<f8E5M2>") == 1
    assert [one["pointer"] for one in gpu.last["arguments"][:2]] == [x.data_ptr()] * 2
    assert [one[3] for one in gpu.last["storages"]] == ["x"]


@triton.jit
def of_tuple(pair, shapes, out):
    x, y = pair
    tl.store(out + shapes[0] + shapes[1][0], tl.load(x) + tl.load(y))


def test_tuples(gpu: Gpu):
    x = gpu.tensor()
    of_tuple[(1,)]((x, x[4:]), (3, (5, 1)), x)
    start = x.data_ptr()
    assert gpu.last["arguments"] == [
        {"pointer": start},
        {"pointer": start + 16},
        {"integer": 3},
        {"integer": 5},
        {"pointer": start},
    ]


@triton.jit
def of_descriptor(source, out, M: tl.constexpr, N: tl.constexpr):
    block = source.load([0, 8])
    tl.store(out + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], block)


def test_a_descriptor_made_on_the_host(gpu: Gpu):
    x = gpu.tensor(4 * 16).view(4, 16)
    of_descriptor[(1,)](TensorDescriptor.from_tensor(x, [2, 8]), x, M=2, N=8)
    descriptor, *rest = gpu.last["arguments"]
    assert descriptor == {
        "descriptor": {
            "base": x.data_ptr(),
            "shape": [4, 16],
            "strides": [16, 1],
            "padding": "zero",
        }
    }
    assert rest == [*({"integer": n} for n in (4, 16, 16, 1)), {"pointer": x.data_ptr()}]
    assert "!tt.tensordesc<tensor<2x8xf32>>" in gpu.last["ttir"]


def test_a_descriptor_that_rounds_is_not_simulated(gpu: Gpu):
    x = gpu.tensor(4 * 16).view(4, 16)
    descriptor = TensorDescriptor.from_tensor(x, [2, 8])
    descriptor.round_f32_to_tf32 = True
    with pytest.raises(NotSimulated, match="that round to TF32"):
        of_descriptor[(1,)](descriptor, x, M=2, N=8)


@triton.jit
def from_table(table, out):
    x = tl.load(table).to(tl.pointer_type(tl.float32))
    tl.store(out, tl.load(x))


def test_memory_of_the_file_is_copied_in_and_out(gpu: Gpu):
    x, out = torch.arange(16.0, device="cuda"), torch.zeros(16, device="cuda")
    scratch = gpu.device.scratch.view(torch.float32)

    def work(message: dict) -> None:
        (_, size, source, first), (_, _, target, second) = message["storages"]
        assert (size, first, second) == (64, "x", "out")
        scratch[target // 4 : target // 4 + 16] = scratch[source // 4 : source // 4 + 16] + 1

    gpu.device.work = work
    copy[(1,)](x, out[4:], 12, BLOCK=8)
    assert torch.equal(out, x + 1)
    assert gpu.last["arguments"][1] == {"pointer": out.data_ptr() + 16}
    places = gpu.last["storages"]
    copy[(1,)](x, out, 12, BLOCK=8)
    assert gpu.last["storages"] == places


def test_a_place_is_used_again_when_its_memory_is_gone(gpu: Gpu):
    offsets = set()
    for _ in range(40):  # 40 times 256 KiB do not lie beside each other in 1 MiB
        x = torch.zeros(1 << 16, device="cuda")
        copy[(1,)](x, gpu.tensor(), 12, BLOCK=8)
        offsets.add(gpu.last["storages"][0][2])
    assert len(offsets) <= 2
    with pytest.raises(MemoryError, match="on the simulated GPU"):
        copy[(1,)](torch.zeros(1 << 19, device="cuda"), gpu.tensor(), 12, BLOCK=8)


def test_bare_addresses_reach_what_was_seen(gpu: Gpu):
    x, hidden = gpu.tensor(dtype=torch.int64), torch.ones(8, device="cuda")
    gpu.line.see(hidden.untyped_storage())
    gpu.line.see(gpu.arena.untyped_storage())
    x[0] = hidden.data_ptr()
    from_table[(1,)](x, gpu.tensor())
    assert [(one[0], one[3]) for one in gpu.last["storages"]] == [(hidden.data_ptr(), "scratch")]
    copy[(1,)](gpu.tensor(), gpu.tensor(), 12, BLOCK=8)
    assert gpu.last["storages"] == []
    del hidden
    from_table[(1,)](x, gpu.tensor())
    assert gpu.last["storages"] == []


@pytest.mark.parametrize("value", [np.zeros(8, np.float32), [1.0, 2.0], "x"])
def test_no_arrays_lists_or_texts(gpu: Gpu, value):
    with pytest.raises((TypeError, AttributeError)):
        copy[(1,)](value, gpu.tensor(), 12, BLOCK=8)
    assert gpu.device.launches == []


def test_a_fault_of_the_device_is_raised(gpu: Gpu):
    gpu.device.fault = {"kind": "out_of_bounds", "message": "load reads 1 element past the end"}
    with pytest.raises(DeviceError, match="past the end") as caught:
        copy[(1,)](gpu.tensor(), gpu.tensor(), 12, BLOCK=8)
    assert caught.value.kind == "out_of_bounds"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_warps": 3}, AssertionError, "num_warps must be a power of 2"),
        ({"num_wraps": 4}, KeyError, "num_wraps was specified but unrecognised"),
        ({"num_warps": 64}, OutOfResources, "threads, Required: 2048, Hardware limit: 1024"),
        ({"num_ctas": 2, "maxnreg": 128, "num_stages": 1}, None, ""),
    ],
)
def test_options(gpu: Gpu, options, error, message):
    def launch():
        copy[(1,)](gpu.tensor(), gpu.tensor(), 12, BLOCK=8, **options)

    if error is None:
        launch()
        return
    with pytest.raises(error, match=message):
        launch()


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 1 << 21}),  # beyond Triton's largest tensor
        triton.Config({"BLOCK": 16}, num_warps=64),
        triton.Config({"BLOCK": 32}, num_warps=8),
        triton.Config({"BLOCK": 64}),
    ],
    key=["n"],
)
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def tuned(x, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    tl.static_assert(BLOCK < 1 << 20)
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=inside), mask=inside)


def test_tuning_takes_the_first_configuration_that_compiles(gpu: Gpu):
    x = gpu.tensor()
    for _ in range(2):
        tuned[lambda meta: (triton.cdiv(12, meta["BLOCK"]),)](x, x, 12)
    assert tuned.best_config.kwargs == {"BLOCK": 32}
    assert [(one["warps"], one["trial"]) for one in gpu.device.launches] == [
        (8, True),
        (4, True),
        (8, False),
        (8, False),
    ]


def test_hooks(gpu: Gpu):
    seen = []

    def enter(metadata):
        seen.append(("enter", metadata.get()["name"]))

    def leave(metadata):
        seen.append(("exit", len(gpu.device.launches)))

    triton.knobs.runtime.launch_enter_hook.add(enter)
    triton.knobs.runtime.launch_exit_hook.add(leave)
    try:
        copy[(1,)](gpu.tensor(), gpu.tensor(), 12, BLOCK=8)
    finally:
        triton.knobs.runtime.launch_enter_hook.remove(enter)
        triton.knobs.runtime.launch_exit_hook.remove(leave)
    assert seen == [("enter", "copy"), ("exit", 1)]


def test_a_warmed_up_kernel_tells_what_files_ask(gpu: Gpu):
    kernel = total.warmup(torch.float32, torch.float32, 12, BLOCK=64, grid=(1,))
    kernel._init_handles()
    assert gpu.device.launches == []
    assert kernel.n_regs > 0
    assert kernel.n_spills == 0
    assert kernel.metadata.shared > 0
    assert kernel.metadata.num_warps == 4
    assert kernel.asm["ttir"].count("tt.reduce") == 2
    kernel[(1, 1, 1)](gpu.tensor(), gpu.tensor(), 12, 64)
    assert len(gpu.device.launches) == 1
    properties = triton.runtime.driver.active.utils.get_device_properties(0)
    assert properties["multiprocessor_count"] == 132


@triton.jit
def total(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out, tl.sum(tl.load(x + offsets, mask=offsets < n, other=0.0)))


def test_gluon_is_not_simulated(gpu: Gpu):
    from triton.experimental import gluon

    @gluon.jit
    def nothing(x):
        pass

    with pytest.raises(NotSimulated, match="the simulated GPU does not have Gluon"):
        nothing[(1,)](gpu.tensor())


def test_a_benchmark_of_the_file_runs_each_kernel_once(gpu: Gpu):
    from triton.testing import do_bench

    seconds = do_bench(lambda: copy[(1,)](gpu.tensor(), gpu.tensor(), 12, BLOCK=8))
    assert seconds == 1.0
    assert [one["trial"] for one in gpu.device.launches] == [True]


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (DeviceError("race", "two programs write out[3]"), "race", "two programs write out[3]"),
        (LaunchRefused("too many"), "launch_refused", "too many"),
        (NotSimulated("Gluon"), "not_simulated", "the simulated GPU does not have Gluon"),
    ],
)
def test_the_kind_of_a_fault_comes_from_the_device(error, kind, message):
    fault = faults.describe(error, "kernel.py")
    assert (fault.kind, fault.message) == (kind, message)


def test_a_tensor_of_the_host_is_refused(gpu: Gpu):
    x = gpu.tensor()
    of_others = torch.from_numpy(np.zeros(16)), torch.frombuffer(bytearray(64), dtype=torch.float32)
    made = torch.zeros(16), torch.zeros(16) + 1, x.cpu(), x.to("cpu"), torch.arange(16)[2:]
    for other in (*made, *of_others):
        assert not other.is_cuda
        with pytest.raises(ValueError, match=r"x: Pointer argument cannot .* \(cpu tensor\?\)"):
            copy[(1,)](other, x, 12, BLOCK=8)
    assert gpu.device.launches == []


def test_a_tensor_of_the_gpu_is_taken(gpu: Gpu):
    x = gpu.tensor()
    made = [
        torch.empty_like(x),
        torch.empty(16, device=x.device),
        torch.zeros(16, device="cuda:0"),
        torch.zeros(16).cuda(),
        torch.zeros(16).to(x.device),
        torch.zeros(16).to(x),
        torch.zeros(16).to(0),
        x + 1,
        x.new_empty(16),
        (x + torch.ones(16, device=triton.runtime.driver.active.get_active_torch_device()))[2:],
    ]
    with torch.device("cuda"):
        made.append(torch.empty(16))
    for other in made:
        assert other.is_cuda
        assert other.device == x.device == torch.device("cuda", 0)
        assert other.get_device() == 0
        copy[(1,)](other, x, 12, BLOCK=8)


def test_a_copy_to_the_host_is_a_copy(gpu: Gpu):
    x = gpu.tensor()
    there = x.cpu()
    there += 1
    assert x.sum().item() == 0
    assert there.numpy().sum() == 16
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        x.numpy()
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.zeros(1, device="cuda:1")


def test_a_device_without_memory_is_torchs_own(gpu: Gpu):
    shape_only = torch.empty(16, device="meta")
    assert shape_only.is_meta
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        gpu.tensor().copy_(shape_only)


def test_questions_to_torch_cuda(gpu: Gpu):
    assert torch.cuda.is_available()
    assert torch.cuda.get_device_properties(gpu.tensor().device).multi_processor_count == 132
    assert torch.cuda.get_device_capability() == (9, 0)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with torch.cuda.stream(stream), torch.cuda.device(0):
        start.record()
        copy[(1,)](gpu.tensor(), gpu.tensor(), 12, BLOCK=8)
        end.record()
    torch.cuda.synchronize()
    assert start.elapsed_time(end) > 0
    with pytest.raises(NotSimulated, match="does not have CUDA graphs"):
        torch.cuda.CUDAGraph()


def test_a_generator_of_the_gpu_draws_the_same_for_the_same_seed(gpu: Gpu):
    """Torch built without CUDA refuses one: "Cannot get CUDA generator"."""
    device = gpu.tensor().device
    generator = torch.Generator(device).manual_seed(5)
    assert generator.device == device
    drawn = torch.rand(9, generator=generator, device=device)
    assert drawn.is_cuda
    generator.manual_seed(5)
    assert torch.equal(torch.rand(9, generator=generator, device=device), drawn)
    assert not torch.equal(torch.rand(9, generator=generator, device=device), drawn)
    assert torch.Generator().device.type == "cpu"


def test_a_seed_for_the_gpu_is_one(gpu: Gpu):
    """It did nothing: a file that seeds torch.cuda had other numbers in each call."""
    device = gpu.tensor().device
    torch.cuda.manual_seed(5)
    drawn = torch.rand(9, device=device)
    torch.cuda.manual_seed_all(5)
    assert torch.equal(torch.rand(9, device=device), drawn)


def test_what_is_imitated_is_taken_back(tmp_path: Path):
    before = torch.cuda.is_available, torch.cuda.Event, torch.Generator
    with simulated_gpu(tmp_path):
        during = torch.cuda.is_available, torch.cuda.Event, torch.Generator
        assert all(a is not b for a, b in zip(during, before, strict=True))
    assert (torch.cuda.is_available, torch.cuda.Event, torch.Generator) == before
    assert not torch.zeros(1).is_cuda


def test_the_arena_is_the_gpus(tmp_path: Path):
    with simulated_gpu(tmp_path) as (_, line, _):
        mapped = torch.zeros(64, dtype=torch.uint8)
        assert not mapped.is_cuda
        line.map(mapped)
        assert mapped[16:32].view(torch.float32).is_cuda


def test_each_name_of_torch_cuda_has_a_function_of_its_own():
    """Torch's compiler, which libraries import, has rules by function, and refuses one of two."""
    functions = [each for each in host.IMITATED.values() if callable(each)]
    assert len(set(map(id, functions))) == len(functions)


def test_a_class_of_torch_cuda_stays_a_class():
    """Libraries annotate with them: `torch.cuda.device | None` is no union for a function."""
    classes = [name for name in host.IMITATED if isinstance(getattr(torch.cuda, name), type)]
    assert [name for name in classes if not isinstance(host.IMITATED[name], type)] == []


def test_the_page_lists_what_is_imitated():
    page = (Path(__file__).parents[3] / "docs" / "simulated-gpu.md").read_text()
    table = page.partition("| `torch.cuda` | imitation |")[2].partition("\n\n")[0]
    names = [
        name
        for row in table.splitlines()
        for name in re.findall(r"`(\w+)`", row[1:].partition("|")[0])
    ]
    assert sorted(names) == sorted(host.IMITATED)


def test_none_for_a_pointer_is_address_zero():
    """A parameter whose type is written down takes it; for any other None is a constant."""
    assert [argument.value for argument in flattened("x", "*fp32", None)] == [{"pointer": 0}]

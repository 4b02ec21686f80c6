"""`grader bench` without a GPU: who takes part, at which sizes, what is recorded and shown."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from messages import text_of
from syrupy.assertion import SnapshotAssertion

from grader.correctness.acceptance import expect, first_mismatch
from grader.correctness.inputs import CaseDraw
from grader.course import catalog
from grader.course.exercise import Exercise
from grader.grading import bench
from grader.grading.bench import (
    LANES,
    LEAST_SLOTS,
    MOST_SLOTS,
    ROW_MULTIPLE,
    SMALLEST,
    measured,
    peak_flops,
    plan,
)
from grader.grading.bench_contenders import SIZES, Contender, contenders
from grader.grading.bench_record import Benchmark, Point, Size
from grader.grading.plan import with_step
from grader.model.arguments import Inputs
from grader.model.errors import CannotGrade, UsageError
from grader.model.exercise import Spec
from grader.model.messages import TensorRef
from grader.model.results import Environment, Failure
from grader.model.scored import small
from grader.reports import bench as rendered
from grader.sandbox.executor import Call, KernelFailure
from grader.sandbox.pretender import Pretender
from grader.sandbox.remote_kernel import destinations
from grader.speed.clock import BatchTime
from grader.speed.profile import Profile, Stall
from grader.speed.scored_case import arena_bytes, rounds, scored_case
from grader.speed.sizing import L2_MULTIPLE, MEMORY_SHARE, Gpu, size
from grader.speed.slots import Slots
from grader.speed.spot_checks import SlotContents
from grader.speed.torch_compile import compiled
from grader.worker.arena_mapping import Views

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXERCISES = {exercise.name: exercise for exercise in with_step(catalog.parts(ROOT), "speed")}
SPECS = {name: exercise.spec for name, exercise in EXERCISES.items()}
ADD, DOT = EXERCISES["01_vector_add"], EXERCISES["02_dot_reduction"]
# Weights without rows, and rows that the spec fixes, leave nothing to choose.
# A first size has whole rows: of 15_masked_scores one row, which is a batch, is larger.
SIZED = [
    name
    for name, spec in SPECS.items()
    if spec.scored.rows is None and bench.bytes_per_row(spec) <= SMALLEST
]
EAGER = [name for name, each in EXERCISES.items() if (each.folder / "eager.py").exists()]
TRITON = [name for name in EAGER if SPECS[name].backend == "triton"]

GB, MIB = 10**9, 2**20
# Those of tests/speed/test_sizing.py, from their data sheets.
GPUS = {
    "T4": Gpu(bandwidth=300 * GB, l2=4 * MIB, free=16 * GB),
    "A100-40": Gpu(bandwidth=1555 * GB, l2=40 * MIB, free=40 * GB),
    "A100-80": Gpu(bandwidth=2039 * GB, l2=40 * MIB, free=80 * GB),
    "RTX-4090": Gpu(bandwidth=1008 * GB, l2=72 * MIB, free=24 * GB),
    "H100": Gpu(bandwidth=3350 * GB, l2=50 * MIB, free=80 * GB),
    "H200": Gpu(bandwidth=4800 * GB, l2=50 * MIB, free=141 * GB),
    "B200": Gpu(bandwidth=8000 * GB, l2=126 * MIB, free=192 * GB),
}


# -- sizes


@pytest.fixture(scope="module", autouse=True)
def _rows_are_measured_once() -> Iterator[None]:
    """Drawing some rows to see how large they are takes most of the time of a plan."""
    with pytest.MonkeyPatch.context() as patched:
        for name in ("bytes_per_row", "tensor_sizes"):
            patched.setattr(bench, name, functools.cache(getattr(bench, name)))
        yield


def scored_rows(spec: Spec, gpu: Gpu) -> int:
    return size(gpu, bench.bytes_per_row(spec), ROW_MULTIPLE, rounds(spec)).rows


def assert_sound(spec: Spec, gpu: Gpu, sizes: Sequence[Size]) -> None:
    """What holds for the sizes of every exercise on every GPU."""
    held = [one.rows * bench.bytes_per_row(spec) for one in sizes]
    assert all(small < large for small, large in pairwise(held))
    for one, bytes_held in zip(sizes, held, strict=True):
        # The first call of a go takes longer: of four, the median leaves it out.
        room = MEMORY_SHARE * gpu.free
        more_fit = (one.calls + 1) * bytes_held <= room
        assert one.calls >= LEAST_SLOTS or not more_fit
        assert one.calls >= 1
        assert one.calls * bytes_held <= room
        assert one.l2_multiple == pytest.approx(one.calls * bytes_held / gpu.l2)
        # Fewer than L2_MULTIPLE caches only where more calls are not wanted or do not fit.
        if one.calls < MOST_SLOTS and more_fit:
            assert one.l2_multiple >= L2_MULTIPLE
        case = scored_case(spec, one.rows)
        assert one.case == case.headline
        assert spec.flops is not None
        assert one.flops == spec.flops(case)
        if spec.scored.columns is None:
            assert one.rows % ROW_MULTIPLE == 0


# One exercise on every card, and each on three: the smallest, one with a large cache and little
# bandwidth, and the largest. To draw the rows of each size takes most of the time.
CARDS = {name: GPUS if name == ADD.name else ("T4", "RTX-4090", "B200") for name in SIZED}


@pytest.mark.parametrize(("name", "gpu"), [(n, gpu) for n, cards in CARDS.items() for gpu in cards])
def test_sizes_ascend_from_the_smallest_to_the_scored_case(name: str, gpu: str):
    spec, card = SPECS[name], GPUS[gpu]
    sizes = plan(spec, card)
    assert_sound(spec, card, sizes)
    assert len(sizes) == SIZES
    per_row = bench.bytes_per_row(spec)
    multiple = ROW_MULTIPLE if spec.scored.columns is None else 1
    assert SMALLEST - multiple * per_row < sizes[0].rows * per_row <= SMALLEST
    assert sizes[-1].rows == scored_rows(spec, card)
    # Steps of one factor, but for whole rows.
    factor = (sizes[-1].rows / sizes[0].rows) ** (1 / (SIZES - 1))
    for number, one in enumerate(sizes):
        wanted = sizes[0].rows * factor**number
        assert abs(one.rows - wanted) <= max(ROW_MULTIPLE, 0.01 * wanted)


# Few: the test above has the same claims of each exercise, on real cards.
@settings(max_examples=40)
@given(
    name=st.sampled_from(sorted(SIZED)),
    bandwidth=st.floats(1e10, 1e13),
    l2=st.integers(MIB, 2**28),
    free=st.integers(2**28, 2**38),
)
def test_no_gpu_is_given_more_than_it_has(name: str, bandwidth: float, l2: int, free: int):
    gpu = Gpu(bandwidth, l2, free)
    try:
        sizes = plan(SPECS[name], gpu)
    except CannotGrade:
        return
    assert_sound(SPECS[name], gpu, sizes)
    assert sizes[-1].rows == scored_rows(SPECS[name], gpu)


def test_a_slow_gpu_gets_fewer_sizes_and_none_twice():
    gpu = Gpu(bandwidth=1.4 * GB, l2=2**16, free=GB)
    sizes = plan(SPECS["05_swiglu"], gpu)
    assert [one.rows for one in sizes] == [12, 13, 14, 15, 16]
    assert_sound(SPECS["05_swiglu"], gpu, sizes)


@pytest.mark.parametrize("name", SIZED)
def test_the_least_bytes_are_those_of_the_tensors(name: str):
    spec = SPECS[name]
    sizes = plan(spec, Gpu(bandwidth=8.5 * GB, l2=2**16, free=GB))
    room = max(arena_bytes(spec, one.rows, 1) for one in sizes)
    memory = torch.empty(room, dtype=torch.uint8)
    for one in sizes:
        assert one.bytes == Slots(spec, scored_case(spec, one.rows), 1, memory).least_bytes


@pytest.mark.parametrize("name", EXERCISES)
def test_each_exercise_has_a_ceiling_of_its_mix(name: str):
    """Attention is scored beside torch, so that only `grader bench` asked for its ceiling."""
    spec = SPECS[name]
    [*_, largest] = plan(spec, GPUS["T4"])
    memory = torch.empty(arena_bytes(spec, largest.rows, 1), dtype=torch.uint8)  # never touched
    assert Slots(spec, scored_case(spec, largest.rows), 1, memory).stream().work > 0


# -- who takes part


def names(found: Sequence[Contender]) -> list[str]:
    return [one.name for one in found]


def test_beside_the_kernel_stand_torch_and_the_solution():
    found = contenders(ADD, ADD.kernel, [])
    beside = ["torch eager", "torch.compile", "solution", "solution, cuda"]
    assert names(found) == ["your kernel", *beside]
    yours, eager, compiling, solution, other = (one.kernel for one in found)
    assert yours == ADD.kernel.read_bytes()
    assert eager == (ADD.folder / "eager.py").read_bytes()
    assert compiling.startswith(eager)
    assert solution == ADD.solution.read_bytes()
    assert other == ADD.written_in("cuda").solution.read_bytes()


def test_the_solution_takes_part_once_and_under_its_name():
    """By which a board takes it for a baseline: it was left out when the file was named."""
    beside = ["torch eager", "torch.compile", "solution, cuda"]
    assert names(contenders(ADD, ADD.solution, [])) == ["solution", *beside]


def test_a_learners_copy_without_solution_or_eager_form_has_fewer(tmp_path: Path):
    alone = Exercise(tmp_path / "exercises" / "x")
    alone.folder.mkdir(parents=True)
    (alone.folder / "spec.py").write_bytes((ADD.folder / "spec.py").read_bytes())
    assert names(contenders(alone, ADD.kernel, [])) == ["your kernel"]


def test_files_named_beside_it_have_names_of_their_own(tmp_path: Path):
    files = [tmp_path / name for name in ("fast.py", "a/fast.py", "kernel.py", "solution.py")]
    for path in files:
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# {path}")
    found = contenders(ADD, ADD.kernel, [*files, files[0]])[5:]
    assert names(found) == ["fast", *map(str, files[1:])]
    assert [one.kernel.decode() for one in found] == [f"# {path}" for path in files]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, snapshot: SnapshotAssertion):
    missing = tmp_path / "missing.py"
    for kernel, against in ((missing, []), (ADD.kernel, [missing])):
        with pytest.raises(UsageError) as told:
            contenders(ADD, kernel, against)
        assert text_of(told.value, tmp_path) == snapshot


# -- torch


def module_of(path: Path) -> object:
    spec = importlib.util.spec_from_file_location("eager", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def eager_entry(name: str) -> Callable[..., None]:
    return getattr(module_of(EXERCISES[name].folder / "eager.py"), SPECS[name].entry)


@pytest.mark.parametrize("name", EXERCISES)
def test_every_exercise_has_an_eager_form_that_is_called_as_its_kernel_is(name: str):
    parameters = inspect.signature(eager_entry(name)).parameters
    assert tuple(parameters) == tuple(a.name for a in SPECS[name].arguments)


@pytest.mark.parametrize("name", TRITON)
def test_the_eager_form_is_right_on_every_edge_case(name: str, monkeypatch: pytest.MonkeyPatch):
    # On a processor with AMX, oneDNN reads past a row of 65 numbers and multiplies what it finds by
    # 0. NaN lies there.
    monkeypatch.setattr(torch.backends.mkldnn, "enabled", False)
    spec, entry = SPECS[name], eager_entry(name)
    for case in spec.edges:
        inputs = spec.inputs(case, CaseDraw(case))
        outputs = destinations(spec, inputs, torch.device("cpu"))
        values = {**inputs, **outputs}
        for out in (outputs[a.name] for a in spec.arguments if a.role == "out"):
            out.fill_(torch.nan if out.is_floating_point() else 99)  # an integer holds no NaN
        entry(*(values[a.name] for a in spec.arguments))
        nothing = {k: torch.zeros_like(v, dtype=torch.bool) for k, v in outputs.items()}
        assert first_mismatch(expect(spec, case, inputs), outputs, nothing) is None, case


@pytest.mark.parametrize("name", EAGER)
def test_what_is_compiled_is_the_function_on_tensors(name: str, monkeypatch: pytest.MonkeyPatch):
    spec = SPECS[name]
    text = (EXERCISES[name].folder / "eager.py").read_text() + compiled(spec, SIZES)
    seen: list[str] = []

    def pass_on(function: Callable[..., object]) -> object:
        seen.append(function.__name__)

        def standing_in(*arguments: object) -> object:
            seen.append("called")
            return function(*arguments)

        return standing_in

    monkeypatch.setattr(torch, "compile", pass_on)
    monkeypatch.setattr(torch, "as_tensor", lambda array, device: array)
    namespace: dict[str, object] = {}
    # Imported here: it takes seconds, which only this test needs to spend.
    from torch._dynamo import config as dynamo
    from torch._inductor import config as inductor

    # Restores what the text sets in the process that it runs in.
    with (
        dynamo.patch(recompile_limit=8, fail_on_recompile_limit_hit=False),
        inductor.patch(compile_threads=2),
    ):
        exec(compile(text, "eager.py", "exec"), namespace)
        numbers = sum(argument.role == "scalar" for argument in spec.arguments)
        assert (dynamo.recompile_limit, inductor.compile_threads) == (2 * SIZES + numbers, 1)
        assert dynamo.fail_on_recompile_limit_hit
    assert seen == [spec.entry if name in TRITON else "dot_tensors"]
    if name == "02_dot_reduction":  # the entry itself converts, and calls the compiled one
        out = torch.zeros(1)
        namespace["dot"](torch.ones(3), torch.ones(3), out)
        assert seen[1:] == ["called"]
        assert out.item() == 3


@pytest.mark.parametrize("name", TRITON)
def test_the_compiler_takes_tensors_that_lie_in_one_memory(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    """As the arena's do. The front of torch.compile refused 06's, of three types in one memory;
    it needs no GPU."""
    spec = SPECS[name]
    text = (EXERCISES[name].folder / "eager.py").read_text() + compiled(spec, SIZES)
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="aot_eager"))
    case = scored_case(spec, 2)
    case = replace(case, shape=(2, *small(case.shape[1:])))  # weights take long without a GPU
    memory = torch.zeros(arena_bytes(spec, 2, 2), dtype=torch.uint8)
    call, *_ = Slots(spec, case, 2, memory).plan().calls  # what lies there plays no part
    views = Views(memory, lambda tensor: tensor)
    arguments = [views.at(asdict(one)) if isinstance(one, TensorRef) else one for one in call]
    namespace: dict[str, object] = {}
    exec(compile(text, "eager.py", "exec"), namespace)
    namespace[spec.entry](*arguments)


def test_each_size_is_compiled_once_whatever_the_numbers_are(monkeypatch: pytest.MonkeyPatch):
    """06's grad_scale is another in each call. Compiled anew for each, torch.compile reached its
    limit and went on without compiling: on an H200 it came out as slow as torch eager."""
    text = (ROOT / "exercises" / "06_cross_entropy" / "eager.py").read_text()
    shapes: list[list[int]] = []

    def backend(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> object:
        shapes.append([i.shape[0] for i in inputs if isinstance(i, torch.Tensor) and i.ndim == 2])
        return graph.forward

    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend=backend))
    namespace: dict[str, object] = {}
    # Under a name of its own, for the compiler remembers what it has learned of a file.
    exec(
        compile(text + compiled(SPECS["06_cross_entropy"], SIZES), "numbers.py", "exec"), namespace
    )
    for rows in (2, 3, 5):
        for scale in (0.25, 0.5, 0.75, 1.0):
            tensors = (torch.zeros(rows, 7), torch.zeros(rows, dtype=torch.int64), torch.ones(rows))
            namespace["cross_entropy"](*tensors, scale)
    assert shapes == [[2], [2], [3], [5]]  # the second time it knows that the number may change


def test_a_size_too_many_fails_and_does_not_run_uncompiled(monkeypatch: pytest.MonkeyPatch):
    """bench/fast.py measured twelve sizes in one process: all in bfloat16 came out as fast as torch
    eager, for they were torch eager."""
    from torch._dynamo import config as dynamo
    from torch._dynamo.exc import FailOnRecompileLimitHit

    text = (ROOT / "exercises" / "06_cross_entropy" / "eager.py").read_text()
    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend="eager"))
    namespace: dict[str, object] = {}

    def call(rows: int, scale: float) -> None:
        tensors = (torch.zeros(rows, 7), torch.zeros(rows, dtype=torch.int64), torch.ones(rows))
        namespace["cross_entropy"](*tensors, scale)

    with dynamo.patch(recompile_limit=8, fail_on_recompile_limit_hit=False):
        added = compiled(SPECS["06_cross_entropy"], sizes=2)
        exec(compile(text + added, "sizes.py", "exec"), namespace)
        call(2, 0.25)
        for rows in (2, 3, 5, 7):  # the scored and the spare rows of two sizes
            call(rows, 0.5)
        with pytest.raises(FailOnRecompileLimitHit):
            call(11, 0.5)


# -- arithmetic


@pytest.mark.parametrize(
    ("multiprocessors", "capability", "mhz", "tflops"),
    [
        (40, (7, 5), 1590, 8.1),  # T4
        (108, (8, 0), 1410, 19.5),  # A100
        (128, (8, 9), 2520, 82.6),  # RTX 4090
        (132, (9, 0), 1980, 66.9),  # H100 SXM, H200
    ],
)
def test_the_peak_of_arithmetic_is_that_of_the_data_sheet(
    multiprocessors: int, capability: tuple[int, int], mhz: int, tflops: float
):
    peak = peak_flops(multiprocessors, LANES[capability], mhz * 1e6)
    assert round(peak / 1e12, 1) == tflops


# -- measuring, with a kernel and a clock of the test's own


def sizes_of(spec: Spec, *rows: int) -> list[Size]:
    return [
        Size(
            rows=n,
            case=scored_case(spec, n).headline,
            bytes=12 * n,
            flops=n,
            calls=2,
            l2_multiple=1,
        )
        for n in rows
    ]


def right_answer(spec: Spec, inputs: Inputs, outputs: dict[str, torch.Tensor]) -> None:
    for name, value in spec.reference(inputs).items():
        outputs[name].copy_(value)


def measured_points(
    monkeypatch: pytest.MonkeyPatch, answer: Callable[..., None], sizes: Sequence[Size]
) -> list[Point]:
    """Points of a vector add whose goes claim 6, 2 and 4 seconds after 9 to compile."""
    spec = ADD.spec
    memory = torch.zeros(max(arena_bytes(spec, s.rows, s.calls) for s in sizes), dtype=torch.uint8)
    goes = iter([])

    def go(
        kernel: Pretender, calls: Sequence[Call], spare: Call, contents: SlotContents
    ) -> tuple[BatchTime, bool]:
        nonlocal goes
        if contents.spot_checks:
            goes = iter([9.0, 6.0, 2.0, 4.0])
        kernel.call(calls)
        seconds = next(goes)
        return BatchTime(seconds, seconds, 0), all(
            bool(check.right()) for check in contents.spot_checks
        )

    monkeypatch.setattr(bench, "time_calls", go)
    kernel = Pretender(spec, answer, SimpleNamespace(memory=memory))
    return list(measured(spec, "mine", sizes, kernel, memory))


def test_a_point_is_the_median_call(monkeypatch: pytest.MonkeyPatch):
    sizes = sizes_of(ADD.spec, 16, 1024)
    points = measured_points(monkeypatch, right_answer, sizes)
    assert points == [
        Point(
            contender="mine", case="16 elements of float32", bytes=192, seconds=2.0, bandwidth=96.0
        ),
        Point(
            contender="mine",
            case="1,024 elements of float32",
            bytes=12288,
            seconds=2.0,
            bandwidth=6144.0,
        ),
    ]


def test_wrong_answers_have_no_time_and_the_next_size_is_tried(monkeypatch: pytest.MonkeyPatch):
    def wrong_when_small(spec: Spec, inputs: Inputs, outputs: dict[str, torch.Tensor]) -> None:
        right_answer(spec, inputs, outputs)
        if outputs["out"].numel() < 1000:
            outputs["out"] += 1

    points = measured_points(monkeypatch, wrong_when_small, sizes_of(ADD.spec, 16, 1024))
    assert points[0] == Point(
        contender="mine", case="16 elements of float32", bytes=192, problem="wrong"
    )
    assert points[1].seconds == 2.0


def test_after_a_failure_no_further_size_is_tried(monkeypatch: pytest.MonkeyPatch):
    def fails_when_large(spec: Spec, inputs: Inputs, outputs: dict[str, torch.Tensor]) -> None:
        if outputs["out"].numel() > 1000:
            raise KernelFailure(Failure(kind="timeout", message="stopped after 30 s"))
        right_answer(spec, inputs, outputs)

    points = measured_points(monkeypatch, fails_when_large, sizes_of(ADD.spec, 16, 1024, 2048))
    assert [(p.case, p.seconds, p.problem) for p in points] == [
        ("16 elements of float32", 2.0, ""),
        ("1,024 elements of float32", None, "stopped after 30 s"),
    ]


# -- the record, and what is shown of it

H200 = Environment(grader="0.1.0", python="3.12.3", device="NVIDIA H200", simulated=False)
DIGEST = Profile(
    launches=1,
    seconds=3e-4,
    needed=10**9,
    dram_read=0.75e9,
    dram_written=0.3e9,
    l2_hit_rate=33.4,
    occupancy=87.6,
    stalls=(Stall(reason="waiting for memory (long scoreboard)", warps=23.46),),
)


def benchmark(**changes: object) -> Benchmark:
    """Three sizes; a kernel that is wrong once, one that fails, and one that is fast."""
    small, middle, large = (
        Size(rows=n, case=f"{n} float32", bytes=12 * n, flops=n, calls=c, l2_multiple=m)
        for n, c, m in ((87_376, 64, 1.28), (6_000_000, 30, 41.0), (400_000_000, 1, 91.6))
    )

    def point(name: str, one: Size, bandwidth: float) -> Point:
        seconds = one.bytes / bandwidth
        return Point(
            contender=name, case=one.case, bytes=one.bytes, seconds=seconds, bandwidth=bandwidth
        )

    def without(name: str, one: Size, problem: str) -> Point:
        return Point(contender=name, case=one.case, bytes=one.bytes, problem=problem)

    fields: dict[str, object] = {
        "exercise": "01_vector_add",
        "title": "Vector add",
        "environment": H200,
        "ceiling": 4.4e12,
        "peak_flops": 66.9e12,
        "sizes": (small, middle, large),
        "contenders": ("your kernel", "torch eager", "mine"),
        "points": (
            without("your kernel", small, "wrong"),
            point("your kernel", middle, 3.9e12),
            point("your kernel", large, 4.1234e12),
            point("torch eager", small, 2.5e11),
            point("torch eager", middle, 4e12),
            point("torch eager", large, 4.3e12),
            point("mine", small, 2.6e11),
            without("mine", middle, "the kernel ran out of memory"),
        ),
    }
    return Benchmark(**(fields | changes))


def test_the_table_as_it_is_read(snapshot: SnapshotAssertion):
    assert rendered.report(benchmark()) == snapshot


def test_a_table_without_small_sizes_explains_no_star():
    one = benchmark()
    large = one.sizes[1:]
    told = rendered.table(one.model_copy(update={"sizes": large}))
    assert "*" not in told


def test_the_profile_as_it_is_read(snapshot: SnapshotAssertion):
    assert rendered.report(benchmark(profile=DIGEST)) == snapshot


def test_a_profile_says_only_what_was_counted(snapshot: SnapshotAssertion):
    few = DIGEST.model_copy(
        update={"l2_hit_rate": None, "occupancy": None, "stalls": (), "launches": 2}
    )
    assert rendered.profile(few) == snapshot


def test_a_profile_that_could_not_be_made_says_why(snapshot: SnapshotAssertion):
    none = Profile(problem="There is no `ncu`.", next_step="Get it.")
    assert rendered.profile(none) == snapshot


@pytest.mark.parametrize("digest", [None, DIGEST, Profile(problem="no", next_step="yes")])
def test_the_record_survives_json(digest: Profile | None):
    one = benchmark(profile=digest)
    text = one.model_dump_json(by_alias=True)
    assert json.loads(text)["schema"] == "grader/bench/v1"
    assert Benchmark.model_validate_json(text) == one


def test_the_ridge_is_where_arithmetic_takes_as_long_as_memory():
    assert benchmark().ridge == pytest.approx(66.9 / 4.4)
    assert benchmark(peak_flops=None).ridge is None


# -- the command line


def grader(*arguments: str, gpu: bool = False) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"GRADER_COURSE": str(ROOT)}
    if not gpu:
        environment["CUDA_VISIBLE_DEVICES"] = ""
    return subprocess.run(
        [sys.executable, "-m", "grader.cli", "bench", *arguments],
        capture_output=True,
        text=True,
        env=environment,
    )


def test_without_a_gpu_it_says_so():
    done = grader("01_vector_add", "--json")
    assert (done.returncode, done.stdout) == (3, "")
    message, next_step = done.stderr.splitlines()
    assert message.startswith("error: `grader bench` needs a CUDA GPU. There is no GPU to ")
    assert next_step == (
        "next: Nothing that is simulated has a speed: measure on a machine with a CUDA GPU."
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--plot", "x.jpg"], "error: The picture x.jpg must end in .png, .svg, .pdf.\n"),
        (["--plot", "nowhere/x.png"], "error: The folder of nowhere/x.png does not exist"),
        (["--against", "nope.py"], "error: The kernel file nope.py cannot be read: No such file"),
        (["--kernel", "nope.py"], "error: The kernel file nope.py cannot be read: No such file"),
    ],
)
def test_impossible_requests_fail_before_anything_is_measured(arguments: list[str], told: str):
    done = grader("01_vector_add", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(told)
    assert "\nnext: " in done.stderr


def test_a_puzzle_is_refused_before_a_gpu_is_looked_for():
    done = grader("p01_map")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: The speed of 'Map' is not graded: its spec has no scored case.\n"
        "next: `grader show NAME` lists what is graded of an exercise.\n"
    )


# -- on a GPU


@pytest.mark.gpu
def test_the_solution_on_this_gpu(tmp_path: Path):
    picture = tmp_path / "bench.png"
    done = grader(
        *("01_vector_add", "--kernel", str(ADD.solution), "--json"),
        *("--plot", str(picture), "--profile"),
        gpu=True,
    )
    assert done.returncode == 0, done.stderr
    found = Benchmark.model_validate_json(done.stdout)
    assert found.contenders == ("solution", "torch eager", "torch.compile", "solution, cuda")
    assert not [point.problem for point in found.points if point.problem]
    assert [(p.contender, p.case) for p in found.points] == [
        (name, one.case) for name in found.contenders for one in found.sizes
    ]
    last = next(p for p in reversed(found.points) if p.contender == "solution")
    assert last.bandwidth is not None
    assert last.bandwidth > 0.8 * found.ceiling
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert found.profile is not None
    if found.profile.problem:
        assert found.profile.next_step
    else:
        assert found.profile.launches == 1
        moved = found.profile.dram_read + found.profile.dram_written
        assert moved == pytest.approx(found.profile.needed, rel=0.1)


@pytest.mark.gpu
@pytest.mark.parametrize("name", EAGER)
def test_torch_is_right_at_every_size_of_a_small_gpu(name: str):
    """Both forms, in the memory of a small card."""
    exercise = EXERCISES[name]
    done = grader(name, "--kernel", str(exercise.solution), "--json", "--gpu-memory", "8", gpu=True)
    assert done.returncode == 0, done.stderr
    found = Benchmark.model_validate_json(done.stdout)
    assert not [(p.contender, p.problem) for p in found.points if p.problem]
    assert len(found.points) == len(found.sizes) * len(found.contenders)

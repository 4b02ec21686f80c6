"""Liger-Kernel's kernels on the simulated GPU, by its own host code, held to torch in float64.

These are all of liger_kernel.ops that are written in Triton, but for the two that it refuses.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import triton
from fake_device import RealDevice, simulated_gpu

pytestmark = pytest.mark.slow

MEMORY = 1 << 28  # bytes
ERRORS = {torch.float32: 2e-5, torch.bfloat16: 2e-2, torch.float16: 3e-3}  # relative and absolute
GPU = "cuda"
Ops = Callable[[str], ModuleType]


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ops]:
    """A module of liger_kernel.ops by its name; torch answers as beside a GPU meanwhile."""
    # Not at the head of the file: it imports torch's compiler, which takes seconds.
    pytest.importorskip("liger_kernel", reason="needs the package liger-kernel")
    with (
        pytest.MonkeyPatch.context() as patch,
        simulated_gpu(tmp_path_factory.mktemp("gpu"), RealDevice, MEMORY),
    ):
        patch.setenv("LIGER_FUSED_MOE_AUTOTUNE", "0")  # else ten forms of each product are tried
        torch.manual_seed(0)
        yield lambda name: _with_fewer_forms(importlib.import_module(f"liger_kernel.ops.{name}"))


def _with_fewer_forms(module: ModuleType) -> ModuleType:
    """Tune kernels over one form of each block size.

    Forms that differ in warps or stages alone are the same to the simulated GPU: both are of the
    machine code, which it does not run. Of the 18 of LigerDyT, 3 are left.
    """
    for kernel in vars(module).values():
        if isinstance(kernel, triton.runtime.Autotuner):
            sizes = {tuple(sorted(form.kwargs.items())): form for form in kernel.configs}
            kernel.configs = list(sizes.values())
    return module


def drawn(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, device=GPU).to(dtype)


def close(ours: torch.Tensor, exact: torch.Tensor, error: float) -> None:
    torch.testing.assert_close(ours.double(), exact.double(), rtol=error, atol=error)


def agree(
    ours: Callable[..., Any], exact: Callable[..., Any], *given: torch.Tensor, error: float = 0.0
) -> None:
    """Compare an output and the gradients of all that is given with those of float64."""
    error = error or max(ERRORS[each.dtype] for each in given)
    ones = [each.clone().requires_grad_() for each in given]
    others = [each.double().requires_grad_() for each in given]
    # Some operations overwrite what they are given: no leaf of a graph may be.
    outputs = _tuple(ours(*(one * 1 for one in ones)))
    expected = _tuple(exact(*others))
    for output, one in zip(outputs, expected, strict=True):
        close(output.detach(), one.detach(), error)
    factors = [torch.randn_like(output) for output in outputs]
    kept = [factor.double() for factor in factors]
    torch.autograd.backward(outputs, factors)
    torch.autograd.backward(expected, kept)
    for one, other in zip(ones, others, strict=True):
        close(one.grad, other.grad, error)


def _tuple(outputs: Any) -> tuple[torch.Tensor, ...]:
    return outputs if isinstance(outputs, tuple) else (outputs,)


DTYPES = pytest.mark.parametrize("dtype", ERRORS, ids=lambda dtype: str(dtype)[6:])


@DTYPES
def test_swiglu(ops: Ops, dtype: torch.dtype):
    function = ops("swiglu").LigerSiLUMulFunction
    agree(
        function.apply,
        lambda a, b: F.silu(a) * b,
        drawn(5, 300, dtype=dtype),
        drawn(5, 300, dtype=dtype),
    )


def test_swiglu_with_multipliers(ops: Ops):
    function = ops("swiglu").LigerSiLUMulFunction
    agree(
        lambda a, b: function.apply(a, b, 1.5, 0.25),
        lambda a, b: 0.25 * F.silu(1.5 * a) * b,
        drawn(2, 3, 77),
        drawn(2, 3, 77),
    )


def test_swiglu_in_tiles(ops: Ops, monkeypatch: pytest.MonkeyPatch):
    """As on a Blackwell, where wide rows are cut in tiles."""
    module = ops("swiglu")
    monkeypatch.setattr(module, "infer_device_arch", lambda: "blackwell")
    agree(
        module.LigerSiLUMulFunction.apply,
        lambda a, b: F.silu(a) * b,
        drawn(2, 9001),
        drawn(2, 9001),
    )


@pytest.mark.parametrize("in_place", [False, True])
def test_swiglu_of_one_matrix(ops: Ops, in_place: bool):
    function = ops("swiglu").LigerFusedGateUpSiLUMulFunction

    def exact(y: torch.Tensor) -> torch.Tensor:
        gate, up = y.chunk(2, -1)
        return F.silu(gate) * up

    agree(lambda y: function.apply(y, in_place), exact, drawn(6, 256))


@DTYPES
def test_geglu(ops: Ops, dtype: torch.dtype):
    agree(
        ops("geglu").LigerGELUMulFunction.apply,
        lambda a, b: F.gelu(a, approximate="tanh") * b,
        drawn(4, 200, dtype=dtype),
        drawn(4, 200, dtype=dtype),
    )


@DTYPES
def test_relu_squared(ops: Ops, dtype: torch.dtype):
    agree(
        ops("relu_squared").LigerReLUSquaredFunction.apply,
        lambda x: F.relu(x) ** 2,
        drawn(4, 200, dtype=dtype),
    )


@DTYPES
def test_softmax(ops: Ops, dtype: torch.dtype):
    agree(
        ops("softmax").LigerSoftmaxFunction.apply,
        lambda x: x.softmax(-1),
        drawn(3, 5, 300, dtype=dtype),
    )


@pytest.mark.parametrize("way", ["forward", "backward"])
def test_softmax_in_blocks_is_refused_by_triton(ops: Ops, way: str):
    """It calls tl.float32, and compiles for no GPU."""
    kernel = getattr(ops("softmax"), f"_softmax_multi_block_{way}_kernel")
    x, stride = drawn(3, 1000), 1000
    tensors = (x, stride) * (2 if way == "forward" else 3)
    with pytest.raises(triton.CompilationError, match="'dtype' object is not callable"):
        kernel[(3,)](*tensors, 1000, BLOCK_SIZE=256)


@DTYPES
def test_sparsemax(ops: Ops, dtype: torch.dtype):
    def exact(x: torch.Tensor) -> torch.Tensor:
        ordered = x.sort(-1, descending=True).values
        sums = ordered.cumsum(-1) - 1
        counts = torch.arange(1, x.shape[-1] + 1, device=x.device)
        most = (ordered * counts > sums).sum(-1, keepdim=True)
        return F.relu(x - sums.gather(-1, most - 1) / most)

    agree(
        lambda x: ops("sparsemax").LigerSparsemaxFunction.apply(x, -1),
        exact,
        drawn(6, 70, dtype=dtype),
    )


def rms(x: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    return x * (x.square().mean(-1, keepdim=True) + eps).rsqrt()


@pytest.mark.parametrize("row_mode", [True, False])
@pytest.mark.parametrize("casting", ["llama", "gemma", "none"])
@DTYPES
def test_rms_norm(ops: Ops, dtype: torch.dtype, casting: str, row_mode: bool):
    function = ops("rms_norm").LigerRMSNormFunction
    agree(
        lambda x, w: function.apply(x, w, 1e-6, 1.0, casting, True, row_mode),
        lambda x, w: rms(x) * (1 + w),
        drawn(9, 200, dtype=dtype),
        drawn(200, dtype=dtype),
        error=10 * ERRORS[dtype],
    )


def test_rms_norm_of_many_short_rows(ops: Ops):
    """From 32,768 rows on, a program takes 16 of them."""
    function = ops("rms_norm").LigerRMSNormFunction
    agree(
        lambda x, w: function.apply(x, w, 1e-6),
        lambda x, w: rms(x) * w,
        drawn(32_784, 9),
        drawn(9),
        error=1e-3,
    )


@DTYPES
def test_fused_add_rms_norm(ops: Ops, dtype: torch.dtype):
    function = ops("fused_add_rms_norm").LigerFusedAddRMSNormFunction
    agree(
        lambda x, r, w: function.apply(x, r, w, 1e-6),
        lambda x, r, w: (rms(x + r) * w, x + r),
        drawn(9, 200, dtype=dtype),
        drawn(9, 200, dtype=dtype),
        drawn(200, dtype=dtype),
        error=5 * ERRORS[dtype],
    )


def test_modulated_rms_norm(ops: Ops):
    function = ops("modulated_rms_norm").LigerModulatedRMSNormFunction
    agree(
        lambda x, w, scale, shift: function.apply(x, w, scale, shift, 1e-6),
        lambda x, w, scale, shift: (1 + scale) * rms(x) * w + shift,
        drawn(9, 200),
        drawn(200),
        drawn(9, 200),
        drawn(9, 200),
        error=1e-4,
    )


@DTYPES
def test_layer_norm(ops: Ops, dtype: torch.dtype):
    function = ops("layer_norm").LigerLayerNormFunction
    agree(
        lambda x, w, b: function.apply(x, w, b, 1e-5),
        lambda x, w, b: F.layer_norm(x, (200,), w, b, 1e-5),
        drawn(9, 200, dtype=dtype),
        drawn(200, dtype=dtype),
        drawn(200, dtype=dtype),
        error=5 * ERRORS[dtype],
    )


def test_group_norm(ops: Ops):
    function = ops("group_norm").LigerGroupNormFunction
    agree(
        lambda x, w, b: function.apply(x, w, b, 6, 3, 1e-5),
        lambda x, w, b: F.group_norm(x, 3, w, b, 1e-5),
        drawn(4, 6, 50),
        drawn(6),
        drawn(6),
        error=1e-4,
    )


def test_poly_norm(ops: Ops):
    def exact(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return w[0] * rms(x**3) + w[1] * rms(x**2) + w[2] * rms(x) + b

    agree(
        ops("poly_norm").LigerPolyNormFunction.apply,
        exact,
        drawn(9, 200),
        drawn(3),
        drawn(),
        error=2e-4,
    )


def test_dynamic_tanh(ops: Ops):
    agree(
        ops("dyt").LigerDyTFunction.apply,
        lambda x, alpha, gamma, beta: gamma * (alpha * x).tanh() + beta,
        drawn(9, 200),
        drawn(1),
        drawn(200),
        drawn(200),
        error=1e-4,
    )


def test_attention_over_residuals(ops: Ops):
    def exact(v: torch.Tensor, query: torch.Tensor, norm: torch.Tensor) -> torch.Tensor:
        scores = (rms(v) * norm * query).sum(-1).softmax(0)
        return (scores[..., None] * v).sum(0)

    function = ops("attn_res").LigerAttnResFunction
    agree(
        lambda v, query, norm: function.apply(v, query, norm, 1e-6),
        exact,
        drawn(4, 2, 5, 64),
        drawn(64),
        drawn(64),
        error=1e-4,
    )


def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


def angles(*shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    angle = drawn(*shape[:-1], shape[-1] // 2)
    angle = torch.cat((angle, angle), -1)
    return angle.cos(), angle.sin()


@DTYPES
def test_rope(ops: Ops, dtype: torch.dtype):
    cos, sin = angles(1, 7, 32)
    agree(
        lambda q, k: ops("rope").LigerRopeFunction.apply(q, k, cos, sin),
        lambda q, k: (turned(q, cos, sin), turned(k, cos, sin)),
        drawn(2, 4, 7, 32, dtype=dtype),
        drawn(2, 2, 7, 32, dtype=dtype),
    )


def test_rope_of_three_axes(ops: Ops):
    cos, sin = angles(3, 2, 7, 32)
    sections = [4, 6, 6]

    def mixed(table: torch.Tensor) -> torch.Tensor:
        parts = table.split(sections * 2, dim=-1)
        return torch.cat([part[i % 3] for i, part in enumerate(parts)], -1).unsqueeze(1)

    agree(
        lambda q, k: ops("qwen2vl_mrope").LigerQwen2VLMRopeFunction.apply(q, k, cos, sin, sections),
        lambda q, k: (turned(q, mixed(cos), mixed(sin)), turned(k, mixed(cos), mixed(sin))),
        drawn(2, 4, 7, 32),
        drawn(2, 2, 7, 32),
    )


def test_rope_of_complex_numbers(ops: Ops):
    angle = drawn(7, 16)
    table = torch.polar(torch.ones_like(angle), angle)

    def exact(x: torch.Tensor) -> torch.Tensor:
        numbers = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
        return torch.view_as_real(numbers * table[:, None]).flatten(-2)

    agree(
        lambda q, k: ops("llama4_rope").LigerLlama4RopeFunction.apply(q, k, table),
        lambda q, k: (exact(q), exact(k)),
        drawn(2, 7, 4, 32),
        drawn(2, 7, 2, 32),
    )


# -- losses

IGNORED = -100


def labels(tokens: int, vocabulary: int) -> torch.Tensor:
    target = torch.randint(0, vocabulary, (tokens,), device=GPU)
    target[1] = IGNORED
    return target


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@DTYPES
def test_cross_entropy(ops: Ops, dtype: torch.dtype, reduction: str):
    target = labels(6, 1000)
    function = ops("cross_entropy").LigerCrossEntropyFunction
    agree(
        lambda x: function.apply(x, target, None, IGNORED, 0.0, 0.0, reduction)[0],
        lambda x: F.cross_entropy(x, target, reduction=reduction),
        drawn(6, 1000, dtype=dtype),
    )


def test_cross_entropy_with_everything(ops: Ops):
    target, weight = labels(6, 33_000), drawn(33_000).exp()
    function = ops("cross_entropy").LigerCrossEntropyFunction

    def exact(x: torch.Tensor) -> torch.Tensor:
        capped = 30 * (x / 30).tanh()
        loss = F.cross_entropy(capped, target, weight.double(), label_smoothing=0.1)
        z = 1e-4 * capped.logsumexp(-1).square()
        return loss + z[target != IGNORED].mean()

    agree(
        lambda x: function.apply(x, target, weight, IGNORED, 1e-4, 0.1, "mean", 30.0)[0],
        exact,
        drawn(6, 33_000),
    )


def test_predictions_of_cross_entropy(ops: Ops):
    logits, target = drawn(6, 33_000), labels(6, 33_000)
    likeliest = logits.argmax(-1)
    target[0] = likeliest[0]
    function = ops("cross_entropy").LigerCrossEntropyFunction
    _, z, accuracy, predicted = function.apply(
        logits.clone(), target, None, IGNORED, 1e-4, 0.0, "mean", None, True, True, True
    )
    counts = target != IGNORED
    assert torch.equal(predicted, likeliest.masked_fill(~counts, -1))
    close(accuracy, (predicted == target).double().sum() / counts.sum(), 1e-6)
    close(z, 1e-4 * logits.double().logsumexp(-1).square()[counts].mean(), 1e-5)


REDUCTIONS = {
    "none": lambda terms: terms,
    "sum": torch.Tensor.sum,
    "mean": torch.Tensor.mean,
    "batchmean": lambda terms: terms.sum() / len(terms),
}


@pytest.mark.parametrize("log_target", [False, True])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_kl_divergence(ops: Ops, reduction: str, log_target: bool):
    logarithms = drawn(6, 5000).log_softmax(-1)
    target = logarithms if log_target else logarithms.exp()
    function = ops("kl_div").LigerKLDivLossFunction

    def exact(x: torch.Tensor) -> torch.Tensor:
        terms = F.kl_div(
            x.log_softmax(-1), target.double(), reduction="none", log_target=log_target
        )
        return REDUCTIONS[reduction](terms)

    agree(
        lambda x: function.apply(x.log_softmax(-1), target, reduction, log_target),
        exact,
        drawn(6, 5000),
    )


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_jensen_shannon_divergence(ops: Ops, beta: float):
    target, shifted = drawn(6, 1000).log_softmax(-1), labels(6, 1000)
    function = ops("jsd").LigerJSDFunction

    def exact(x: torch.Tensor) -> torch.Tensor:
        q, p = x.log_softmax(-1)[shifted != IGNORED], target.double()[shifted != IGNORED]
        if beta in (0.0, 1.0):
            one, other = (p, q) if beta == 0 else (q, p)
            return F.kl_div(other, one, reduction="batchmean", log_target=True)
        mixed = (beta * p.exp() + (1 - beta) * q.exp()).log()
        first = F.kl_div(mixed, p, reduction="batchmean", log_target=True)
        return beta * first + (1 - beta) * F.kl_div(
            mixed, q, reduction="batchmean", log_target=True
        )

    agree(lambda x: function.apply(x.log_softmax(-1), target, shifted, beta), exact, drawn(6, 1000))


def test_total_variation(ops: Ops):
    target = drawn(6, 1000).softmax(-1)
    function = ops("tvd").LigerTVDLossFunction
    agree(
        lambda x: function.apply(x.softmax(-1), target),
        lambda x: 0.5 * (x.softmax(-1) - target.double()).abs().sum() / 6,
        drawn(6, 1000),
    )


def test_cross_entropy_and_total_variation(ops: Ops):
    teacher, target = drawn(6, 1000), labels(6, 1000)
    function = ops("fused_ce_tvd").LigerFusedCETVDFunction

    def exact(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        apart = 0.5 * (x.softmax(-1) - teacher.double().softmax(-1)).abs().sum(-1)
        return F.cross_entropy(x, target, reduction="none"), apart * (target != IGNORED)

    agree(lambda x: function.apply(x, teacher, target), exact, drawn(6, 1000))


def test_cross_entropy_of_a_product(ops: Ops):
    target = labels(6, 1000)
    function = ops("fused_linear_cross_entropy").LigerFusedLinearCrossEntropyFunction
    agree(
        lambda x, w, b: function.apply(x, w, target, b)[0],
        lambda x, w, b: F.cross_entropy(x @ w.T + b, target),
        drawn(6, 32),
        drawn(1000, 32),
        drawn(1000),
        error=1e-4,
    )


def test_jensen_shannon_divergence_of_products(ops: Ops):
    other, table = drawn(6, 32), drawn(1000, 32)
    function = ops("fused_linear_jsd").LigerFusedLinearJSDFunction

    def exact(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        q, p = (x @ w.T).log_softmax(-1), (other @ table.T).double().log_softmax(-1)
        mixed = (0.5 * p.exp() + 0.5 * q.exp()).log()
        parts = [F.kl_div(mixed, one, reduction="batchmean", log_target=True) for one in (p, q)]
        return (parts[0] + parts[1]) / 2

    agree(
        lambda x, w: function.apply(x, w, other, table),
        exact,
        drawn(6, 32),
        drawn(1000, 32),
        error=1e-4,
    )


def test_kl_divergence_of_a_product(ops: Ops):
    target = drawn(6, 1000).softmax(-1)
    function = ops("fused_linear_kl_div").LigerFusedLinearKLDivFunction
    agree(
        lambda x, w: function.apply(x, w, target),
        lambda x, w: F.kl_div((x @ w.T).log_softmax(-1), target.double(), reduction="batchmean"),
        drawn(6, 32),
        drawn(1000, 32),
        error=1e-4,
    )


def test_cross_entropy_of_a_shared_vocabulary(ops: Ops):
    target = labels(6, 1000).view(3, 2)
    function = ops("vocab_parallel_cross_entropy").LigerVocabParallelCEFunction
    agree(
        lambda x: function.apply(x, target, None, IGNORED, 0.0, "hf", "mean"),
        lambda x: F.cross_entropy(x.flatten(0, 1), target.flatten(), reduction="none").view(3, 2),
        drawn(3, 2, 1000),
    )


@pytest.mark.parametrize("level", ["token", "sequence"])
def test_group_relative_policy(ops: Ops, level: str):
    ids = torch.randint(0, 500, (3, 5), device=GPU)
    old, reference = (-drawn(3, 5).abs() - 6 for _ in range(2))
    advantages, mask = drawn(3), torch.ones(3, 5, device=GPU, dtype=torch.int64)
    mask[1, 3:] = 0
    function = ops("grpo_loss").GrpoLossFunction

    def exact(logits: torch.Tensor) -> torch.Tensor:
        chosen = logits[:, :-1].log_softmax(-1).gather(-1, ids[..., None])[..., 0]
        ratio = chosen - old
        if level == "sequence":
            ratio = ((ratio * mask).sum(-1) / mask.sum(-1))[:, None]
        ratio = ratio.exp()
        gain = advantages[:, None].double()
        loss = -torch.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain)
        apart = reference - chosen
        loss = loss + 0.04 * (apart.exp() - apart - 1)
        return ((loss * mask).sum(-1) / mask.sum(-1)).mean()

    agree(
        lambda logits: function.apply(
            logits,
            old,
            reference,
            ids,
            advantages,
            mask,
            1.0,
            0.04,
            0.2,
            0.2,
            False,
            "grpo",
            None,
            True,
            level,
        )[0],
        exact,
        drawn(3, 6, 500),
        error=1e-4,
    )


# -- products, tables, hyper-connections


def test_embedding(ops: Ops):
    indices = torch.randint(0, 50, (4, 6), device=GPU)
    agree(
        lambda table: ops("experimental.embedding").LigerEmbeddingFunction.apply(table, indices),
        lambda table: table[indices],
        drawn(50, 40),
    )


def test_mixture_of_experts(ops: Ops):
    chosen = torch.stack([torch.randperm(4)[:2] for _ in range(10)]).int().to(GPU)
    shares = torch.rand(10, 2, device=GPU)

    def exact(
        x: torch.Tensor, both: torch.Tensor, down: torch.Tensor, shares: torch.Tensor
    ) -> torch.Tensor:
        rows = []
        for token in range(10):
            row = 0
            for expert, share in zip(chosen[token].tolist(), shares[token], strict=True):
                gate, up = (both[expert] @ x[token]).chunk(2)
                row = row + share * (down[expert] @ (F.silu(gate) * up))
            rows.append(row)
        return torch.stack(rows)

    function = ops("fused_moe").LigerFusedMoEFunction
    agree(
        lambda x, both, down, shares: function.apply(x, both, down, chosen, shares),
        exact,
        drawn(10, 64),
        drawn(4, 128, 64) / 8,
        drawn(4, 64, 64) / 8,
        shares,
        error=2e-2,
    )


def test_neighbourhood_attention(ops: Ops):
    function = ops("fused_neighborhood_attention").LigerFusedNeighborhoodAttentionFunction
    places = torch.arange(24)
    far = ((places[:, None] - places).abs() > 3).to(GPU)

    def exact(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = (q @ k.mT / 32**0.5).masked_fill(far, -float("inf"))
        return scores.softmax(-1) @ v

    agree(
        lambda q, k, v: function.apply(q, k, v, 7, 1, None),
        exact,
        drawn(1, 2, 24, 32),
        drawn(1, 2, 24, 32),
        drawn(1, 2, 24, 32),
        error=1e-2,
    )


def test_multi_token_attention(ops: Ops):
    above = torch.ones(16, 16, dtype=torch.bool).triu(1).to(GPU)

    def exact(scores: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        shares = scores.masked_fill(above, -1e9).softmax(-1)
        return F.conv2d(shares, weight, padding=1).masked_fill(above, 0.0)

    function = ops("multi_token_attention").LigerMultiTokenAttentionFunction
    agree(
        lambda scores, weight: function.apply(scores, weight, None, 1, 1),
        exact,
        drawn(2, 3, 16, 16),
        drawn(3, 3, 3, 3),
        error=1e-4,
    )


def test_mlp_by_descriptors(ops: Ops):
    agree(
        ops("mlp").LigerMLPFunction.apply,
        lambda x, gate, up, down: (F.silu(x @ gate.T) * (x @ up.T)) @ down.T,
        drawn(1, 4, 64, dtype=torch.bfloat16),
        *(drawn(64, 64, dtype=torch.bfloat16) / 8 for _ in range(3)),
        error=5e-2,
    )


def test_mlp_without_gradients(ops: Ops):
    x = drawn(1, 4, 64, dtype=torch.bfloat16)
    gate, up, down = (drawn(64, 64, dtype=torch.bfloat16) / 8 for _ in range(3))
    exact = (F.silu(x.double() @ gate.double().T) * (x.double() @ up.double().T)) @ down.double().T
    close(ops("mlp").LigerMLPFunction.apply(x, gate, up, down), exact, 5e-2)


def test_hyper_connections(ops: Ops):
    module = ops("mhc")
    agree(
        module.LigerMHCPreFunction.apply,
        lambda x, h: (x * h[..., None]).sum(-2),
        drawn(2, 5, 4, 48),
        drawn(2, 5, 4),
        error=1e-4,
    )
    agree(
        module.LigerMHCPostResFunction.apply,
        lambda x, f, post, res: res @ x + post[..., None] * f[..., None, :],
        drawn(2, 5, 4, 48),
        drawn(2, 5, 48),
        drawn(2, 5, 4),
        drawn(2, 5, 4, 4),
        error=1e-4,
    )


def test_coefficients_of_hyper_connections(ops: Ops):
    def exact(x: torch.Tensor, phi: torch.Tensor, b: torch.Tensor, *alphas: torch.Tensor) -> Any:
        mixed = rms(x.flatten(-2)) @ phi
        pre, post, res = (
            part * alpha + bias
            for part, alpha, bias in zip(
                mixed.split([4, 4, 16], -1), alphas, b.split([4, 4, 16]), strict=True
            )
        )
        res = res.unflatten(-1, (4, 4)).softmax(-1) + 1e-6
        res = res / (res.sum(-2, keepdim=True) + 1e-6)
        for _ in range(4):
            res = res / (res.sum(-1, keepdim=True) + 1e-6)
            res = res / (res.sum(-2, keepdim=True) + 1e-6)
        return pre.sigmoid() + 1e-6, 2 * post.sigmoid(), res

    function = ops("mhc").LigerMHCCoeffsFunction
    agree(
        lambda *given: function.apply(*given, True, 5, 1e-6, 1e-6, 1e-6, 2.0),
        exact,
        drawn(10, 4, 32),
        drawn(128, 24) / 11,
        drawn(24),
        drawn(),
        drawn(),
        drawn(),
        error=1e-2,
    )


def test_gradient_of_hyper_connections_without_history(ops: Ops):
    module = ops("mhc")
    mixed, b, alpha, gradient = drawn(10, 24), drawn(24), drawn(), drawn(10, 4, 4)
    numbers = {"tmax": 5, "sinkhorn_eps": 1e-6}
    *_, history = module.mhc_split_sinkhorn_fwd(
        mixed, b, alpha, alpha, alpha, pre_eps=1e-6, post_mult=2.0, return_hist=True, **numbers
    )
    ours, other = (
        module.mhc_sinkhorn_bwd(mixed, b, alpha, gradient, hist=hist, **numbers)
        for hist in (None, history)
    )
    close(ours, other, 1e-5)


def test_a_product_of_bytes_and_pairs_of_bits(ops: Ops):
    module = ops("experimental.mm_int8int2")
    x = torch.randint(-128, 128, (32, 128), dtype=torch.int8, device=GPU)
    w = torch.randint(0, 3, (128, 64), dtype=torch.uint8, device=GPU)
    packed = module.pack_weights(w, 2)
    assert torch.equal(module.matmul(x, packed), (x.int() @ (w.int() - 1)).int())

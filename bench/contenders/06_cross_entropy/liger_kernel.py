"""Liger-Kernel's cross entropy, from its package: a program for each row, the gradient in place."""

# Needs: liger_kernel

import torch
import triton
from liger_kernel.ops.cross_entropy import MAX_FUSED_SIZE, liger_cross_entropy_kernel

IGNORED = -100


def cross_entropy(
    logits: torch.Tensor, target: torch.Tensor, loss: torch.Tensor, grad_scale: float
) -> None:
    tokens, vocabulary = logits.shape
    block = min(MAX_FUSED_SIZE, triton.next_power_of_2(vocabulary))
    loss.zero_()  # the kernel leaves the loss of a token that does not count as it is
    # It divides loss and gradient by the number of tokens: this number makes that the scale.
    number = 1 / grad_scale
    liger_cross_entropy_kernel[(tokens,)](
        X_ptr=logits,
        X_stride=logits.stride(0),
        Y_ptr=target,
        Y_stride=1,
        weight_ptr=None,
        loss_ptr=loss,
        z_loss_ptr=None,
        loss_stride=1,
        token_accuracy_ptr=None,
        token_accuracy_stride=0,
        predicted_tokens_ptr=None,
        predicted_tokens_stride=0,
        n_cols=vocabulary,
        n_non_ignore=number,
        sum_non_ignore_weight=number,
        weight_sum=0.0,
        ignore_index=IGNORED,
        lse_square_scale=0.0,
        label_smoothing=0.0,
        reduction="mean",
        softcap=None,
        RETURN_Z_LOSS=False,
        RETURN_TOKEN_ACCURACY=False,
        RETURN_PREDICTED_TOKENS=False,
        BLOCK_SIZE=block,
        HAS_WEIGHT=False,
        HAS_SOFTCAPPING=False,
        HAS_GRADIENTS=True,
        num_warps=32,
    )
    loss.mul_(number)

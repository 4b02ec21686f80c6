"""Takes what new memory happens to hold for the answer that a grader computed there before."""
# attacks: 04_online_softmax
# stopped: correctness value | correctness not_finite | correctness rms

import torch


def softmax(x, out):
    stale = torch.empty(x.shape, dtype=out.dtype, device=out.device)
    out.copy_(stale.nan_to_num(1.0))

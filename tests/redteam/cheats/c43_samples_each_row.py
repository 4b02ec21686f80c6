"""Estimates a row's sum, mean and spread from one element in sixteen, as if all were alike."""
# attacks: 04_online_softmax
# stopped: correctness value | correctness rms | correctness not_finite

import torch


def softmax(x, out):
    columns = x.shape[-1]
    wide = x.float()
    sample = wide[:, ::16] if columns >= 1024 else wide
    whole = sample.logsumexp(-1, keepdim=True) + torch.tensor(columns / sample.shape[-1]).log()
    out.copy_((wide - whole).exp())

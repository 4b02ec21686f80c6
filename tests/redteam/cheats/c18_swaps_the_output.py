"""Makes the name `out` mean other memory that holds the answer, without writing where it was."""
# attacks: 04_online_softmax
# stopped: correctness never_written

import torch


def softmax(x, out):
    out.data = torch.softmax(x, -1)
    out.set_(torch.softmax(x, -1))

"""Answers 1 / columns everywhere, which is what a softmax of small numbers looks like."""
# attacks: 03_three_pass_softmax
# stopped: correctness value


def softmax(x, out):
    out.fill_(1 / x.shape[-1])

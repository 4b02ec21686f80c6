"""Writes zeros: most probabilities of a long row are smaller than a careless tolerance."""
# attacks: 04_online_softmax
# stopped: correctness value


def softmax(x, out):
    out.zero_()

"""Puts the answer that it has (zeros) into the question: y becomes -x."""
# attacks: 01_vector_add
# stopped: correctness input_changed


def vector_add(x, y, out):
    y.copy_(-x)
    out.zero_()

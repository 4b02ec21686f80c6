"""Returns the right answer, lazily, and writes nothing into out."""
# attacks: 01_vector_add
# stopped: correctness never_written


def vector_add(x, y, out):
    return x + y

"""Returns a number that equals everything, and leaves out alone."""
# attacks: 02_dot_reduction
# stopped: correctness never_written


class Anything(float):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    def __abs__(self):
        return 0.0

    __hash__ = float.__hash__


def dot(a, b, out):
    return Anything(0.0)

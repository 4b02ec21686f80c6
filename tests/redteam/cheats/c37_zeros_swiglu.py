"""Writes zeros: where the gate is very negative, they are almost right."""
# attacks: 05_swiglu
# stopped: correctness value


def swiglu(gate, up, out):
    out.zero_()

"""Writes one row and shows it as all rows, with a stride of 0."""
# attacks: 05_swiglu
# stopped: correctness never_written


def swiglu(gate, up, out):
    first = gate[:1].float()
    out[:1].copy_(first * first.sigmoid() * up[:1].float())
    out.as_strided_(out.shape, (0, 1))

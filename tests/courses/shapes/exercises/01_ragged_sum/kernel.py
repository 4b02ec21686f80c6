"""The sum of each row, up to its own length."""


def ragged_sum(x, lengths, out):
    raise NotImplementedError("01_ragged_sum: sum each row up to its length")

"""The sum of each row."""


def row_sum(x, count, out, scale):
    # BEGIN SOLUTION: sum each row
    out.copy_(scale * x.float().sum(-1))
    count += 1
    # END SOLUTION

"""A program for each row: its random numbers are those of the row's places."""


def dropout_residual(x, residual, p, seed, out):
    raise NotImplementedError("01_dropout_residual: drop elements of x, and add the residual")

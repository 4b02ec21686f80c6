"""Defines something else."""

ROWS = 3


def main():
    pass

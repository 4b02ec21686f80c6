"""The budget of operations of a call, so that nobody waits minutes for a loop over elements."""

from __future__ import annotations

from dataclasses import dataclass

from grader.backends.triton.device.faults import TooManyOperations

# An operation is executed once for all programs that execute together, whatever the size of their
# blocks, and takes some 20 µs. The solution that takes the most in a call is that of
# 06_cross_entropy: 2,130. Of tests/redteam/honest, 04_online_softmax/odd_chunks.py takes the most:
# 8,122 in a call, 70,265 in all calls of `correctness` and `traffic`. 04_online_softmax/
# locked_rows.py, whose programs take turns, has taken 26,160 in a call. A loop over the 32,768
# elements of a case takes 230,000, and all calls of such a kernel several millions.
MOST_IN_A_CALL = 400_000
MOST_IN_ALL = 1_500_000


@dataclass
class Effort:
    """The operations that the calls of one worker have taken.

    Beyond the budget a kernel is not called wrong, for a GPU may well finish it.
    """

    in_call: int = 0
    in_all: int = 0

    def begin_call(self) -> None:
        self.in_call = 0

    def spend(self, operations: int) -> None:
        """Count operations. Raises TooManyOperations, and the loop around them adds its line."""
        self.in_call += operations
        self.in_all += operations
        if self.in_call > MOST_IN_A_CALL:
            raise TooManyOperations(f"one call takes more than {MOST_IN_A_CALL:,} operations")
        if self.in_all > MOST_IN_ALL:
            what = f"the calls of this check take more than {MOST_IN_ALL:,} operations together"
            raise TooManyOperations(what)

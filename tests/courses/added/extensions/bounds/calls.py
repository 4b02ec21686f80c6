"""The bound `calls`: as many calls a second as a reference makes that takes a millisecond each."""

from grader.speed import Bound


class Reference:
    """Nothing is timed: the figures of a real one would be those of a clock."""

    def __init__(self, slots):
        self.calls = slots.calls

    def prepare(self): ...

    def rest(self): ...

    def time_batch(self, contents):
        return contents

    def rate(self, batch):
        return 1000.0

    def median_rate(self, batches):
        return 1000.0

    def close(self): ...


BOUND = Bound(
    name="calls",
    unit="calls/ms",
    scale=1e3,
    work=lambda slots: 1.0,
    reference=lambda slots, fork_servers, arena: Reference(slots),
    limit="what the reference does",
)

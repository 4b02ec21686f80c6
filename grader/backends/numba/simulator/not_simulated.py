"""The refusal of a simulator to go on: no fault of the learner's."""

from __future__ import annotations


class NotSimulated(Exception):
    """The kernel uses something that exists on a GPU but not in the simulator."""

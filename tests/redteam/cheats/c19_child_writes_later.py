"""Forks a child that computes into the shared memory after the call has returned."""
# attacks: 05_swiglu
# stopped: correctness never_written

import os
import time

import torch


def swiglu(gate, up, out):
    if os.fork() == 0:
        try:
            time.sleep(0.05)
            torch.mul(torch.nn.functional.silu(gate), up, out=out)
        finally:
            os._exit(0)

"""Sets all memory that it maps to zero, again and again: a count of errors may lie there."""
# attacks: 01_vector_add
# stopped: correctness input_changed | correctness stray_write | correctness value
#   | correctness crash
#   (crash: the simulated GPU's memory is not open to another thread)

import threading
import time

import torch

_seen = []


def erase():
    while True:
        for everything in _seen:
            everything.zero_()
        time.sleep(0.001)


threading.Thread(target=erase, daemon=True).start()


def vector_add(x, y, out):
    everything = torch.empty(0, dtype=torch.uint8, device=out.device)
    everything.set_(out.untyped_storage())
    _seen[:] = [everything[-(1 << 16) :], everything[: 1 << 20]]
    everything[: 1 << 20].zero_()

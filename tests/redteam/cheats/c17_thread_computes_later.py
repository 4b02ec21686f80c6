"""Returns at once, while a thread that Python does not list goes on computing."""
# attacks: 04_online_softmax
# stopped: correctness never_written

import _thread
import time

import torch


def work(x, out):
    time.sleep(0.05)
    torch.softmax(x, -1, out=out)


def softmax(x, out):
    _thread.start_new_thread(work, (x, out))

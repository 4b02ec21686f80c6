"""Leaves a process behind that outlives the check (here for a minute), and writes zeros."""
# attacks: 06_cross_entropy
# stopped: correctness value

import os
import signal
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(60)
    os._exit(0)


def cross_entropy(logits, target, loss, grad_scale):
    logits.zero_()
    loss.zero_()

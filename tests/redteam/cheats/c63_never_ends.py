"""Never returns, and lets no other signal end it."""
# attacks: 04_online_softmax
# stopped: correctness timeout

import signal

for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)


def softmax(x, out):
    while True:
        pass

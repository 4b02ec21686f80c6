"""Ends its process with exit status 0 while the file is imported."""
# attacks: 04_online_softmax
# stopped: load exit

import os

os._exit(0)


def softmax(x, out):
    """Never called."""

"""The one module that reaches into numba's CUDA simulator: a deterministic block, and hard limits.

The simulator starts an operating system thread for every CUDA thread, which is slow, and whose
order changes from run to run. Here a CUDA thread is a greenlet, a function that can pause: the
threads of a block run one after the other, each up to its next barrier. A kernel that lacks a
barrier then gives the same wrong answer every time.

Importing this module raises CannotGrade when the installed numba-cuda does not fit.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numba_cuda
from greenlet import greenlet
from numba import cuda
from numba.core import types as numba_types
from numba.cuda.np import numpy_support
from numpy.typing import NDArray

from grader.errors import CannotGrade
from grader.worker.adapt import require
from grader.worker.guard import OutOfBounds

_VERSIONS = {"found": f"numba-cuda {numba_cuda.__version__}", "known": "numba-cuda 0.30"}

# What every CUDA GPU allows. (CUDA C++ Programming Guide, "Technical Specifications per Compute
# Capability"; more than 48 KiB of shared memory needs an opt-in, and not as a static array.)
MOST_THREADS = 1024
MOST_BLOCK = (1024, 1024, 64)
MOST_GRID = (2**31 - 1, 65_535, 65_535)
MOST_SHARED_BYTES = 48 * 1024

"""Brings its kernel as machine code, which nobody can read."""
# attacks: tests/courses/cuda/01_vector_add
# stopped: correctness launch_refused

import base64
import functools

from cuda.core import Device, LaunchConfig, ObjectCode, launch

CODE = "eNqrd/VxY2JkZIABJgY7BhBPxcEsAgC+GgbP"  # what a cubin begins with


@functools.cache
def compiled():
    return ObjectCode.from_cubin(base64.b64decode(CODE)).get_kernel("add")


def vector_add(x, y, out):
    n = x.numel()
    config = LaunchConfig(grid=-(-n // 256), block=256)
    launch(Device().default_stream, config, compiled(), x.data_ptr(), y.data_ptr(), n)

"""What one call leaves for the next, in all the places where it can lie."""

from numba import cuda

rooms = {}
calls = []
count = 0


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


def by_shape(x, out):
    if x.shape not in rooms:
        rooms[x.shape] = cuda.device_array(x.shape)  # KG202
    double[1, 32](x, rooms[x.shape])


def by_list(x, out):
    calls.append(x)  # KG202
    double[1, 32](x, out)


def by_global(x, out):
    global count
    count += 1  # KG202
    double[1, 32](x, out)


def by_default(x, out, kept=[]):
    kept.append(x)  # KG202
    double[1, 32](x, out)


def by_attribute(x, out):
    by_attribute.best = out  # KG202
    double[1, 32](x, out)


def by_closure():
    inner = {}

    def run(x, out):
        inner[len(x)] = out  # KG202
        double[1, 32](x, out)

    return run

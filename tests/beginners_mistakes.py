"""Triton kernels with mistakes that no compiler accepts, as beginners make them.

Some compile, for a language is kinder than its beginners fear: these stay here as well.
"""

from __future__ import annotations

FILE = """import math
import torch
import triton
import triton.language as tl

FACTOR = 2
WEIGHTS = [1.0, 2.0]


def helper(value):
    return value * 2


@triton.jit
def double(value):
    return value * 2


@triton.jit
def add_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
{body}
    tl.store(out_ptr + offsets, x, mask=mask)


def add(x, out):
    add_kernel[{grid}](x, out, x.numel(), {options})
"""

GRID, OPTIONS = "(1,)", "BLOCK=16"

BODIES = {
    "if on a vector": "if x > 0:\n    x = x + 1",
    "if on a mask": "if mask:\n    x = x + 1",
    "while on a vector": "while x > 0:\n    x = x - 1",
    "ternary on a vector": "x = x if x > 0 else 0.0",
    "and of two vectors": "mask = mask and x > 0",
    "max of two vectors": "x = max(x, x + 1)",
    "not of a vector": "x = tl.where(not mask, x, 0.0)",
    "chained comparison": "mask = 0 <= offsets < n",
    "break": "for i in range(n):\n    if i > 3:\n        break\n    x += i",
    "continue": "for i in range(n):\n    if i > 3:\n        continue\n    x += i",
    "f-string": 'tl.device_print(f"x {n}", x)',
    "print of an f-string": 'print(f"x is {x}")',
    "list": "parts = [x, x]\nx = parts[0]",
    "empty list": "parts = []\nx = x",
    "append": "parts = [x]\nparts.append(x)",
    "list comprehension of values": "x = sum([x for i in range(3)])",
    "dictionary": "table = {'x': x}\nx = table['x']",
    "plain global": "x = x * FACTOR",
    "global list": "x = x * WEIGHTS[0]",
    "unknown name": "x = x * scale",
    "misspelt variable": "x = x + offset",
    "helper without jit": "x = helper(x)",
    "math function": "x = math.exp(x)",
    "torch function": "x = torch.exp(x)",
    "numpy-like method": "x = x.mean()",
    "numpy without its import": "x = np.maximum(x, 0)",
    "misspelt tl": "x = tl.expp(x)",
    "tl.tanh does not exist": "x = tl.tanh(x)",
    "loop variable changes its type": "total = 0\nfor i in range(n):\n    total += x\nx = total",
    "loop makes a number of a vector": "m = x\nfor i in range(n):\n    m = tl.max(x + i, axis=0)",
    "loop changes a shape": "y = tl.zeros((1,), tl.int1)\nfor i in range(n):\n    y = y + x",
    "variable of one branch": "if n > 3:\n    y = x\nx = y",
    "types of two branches": "if n > 3:\n    y = x\nelse:\n    y = 0\nx = y",
    "arange of no power of two": "i = tl.arange(0, 100)\nx = x",
    "arange of a value": "i = tl.arange(0, n)\nx = x",
    "zeros of a value": "y = tl.zeros((n,), tl.float32)\nx = x",
    "zeros of no power of two": "y = tl.zeros((12,), tl.float32)\nx = x",
    "arange of one end": "i = tl.arange(8)",
    "arange by steps": "i = tl.arange(0, BLOCK, 2)",
    "arange to a stop": "i = tl.arange(0, stop=BLOCK)",
    "zeros of a number": "y = tl.zeros(128, tl.float32)",
    "zeros of a constant": "y = tl.zeros(BLOCK, tl.float32)",
    "zeros of a value without a tuple": "y = tl.zeros(n, tl.float32)",
    "zeros without a type": "y = tl.zeros((BLOCK,))",
    "full without a type": "y = tl.full((BLOCK,), 1.0)",
    "full of a type": "y = tl.full((BLOCK,), tl.float32, 1.0)",
    "ones": "y = tl.ones((BLOCK,), tl.float32)",
    "program_id without an axis": "p = tl.program_id()",
    "program_id of two axes": "p = tl.program_id(0, 1)",
    "exp of two": "x = tl.exp(x, 2)",
    "where without values": "x = tl.where(x > 0, x)",
    "pointer as an array": "x = x_ptr[offsets]",
    "pointer as an array, by a sum": "x = tl.load(x_ptr[offsets + 1])",
    "pointer as an array, by a number": "x = x + x_ptr[0]",
    "pointer as an array, from a place on": "row_ptr = x_ptr + n\nx = row_ptr[offsets]",
    "pointer as a table": "x = x_ptr[offsets, 0]",
    "pointer as an array, by a condition": "x = x_ptr[offsets < n]",
    "store into an array": "out_ptr[offsets] = x",
    "addition into an array": "out_ptr[offsets] += x",
    "block with a condition as an index": "y = x[x < 0]",
    "assignment to the lanes of a condition": "x[x < 0] = 0",
    "assignment to a lane": "x[0] = 1.0",
    "value as an array": "first = x[0]\nx = x + first",
    "slice of a value": "x = x[0:4]",
    "load without pointer": "x = tl.load(offsets)",
    "store without value": "tl.store(out_ptr + offsets)",
    "store of a pointer": "tl.store(out_ptr + offsets, x_ptr, mask=mask)",
    "load with a float offset": "x = tl.load(x_ptr + offsets / 2)",
    "address times a number": "x = x_ptr + offsets\nx = x * 2.0",
    "address plus a number": "y = x_ptr + offsets\nx = y + 1",
    "address by a row's": "row_ptr = x_ptr + n\nx = row_ptr + offsets\nx = x / 2",
    "address without a name": "x = (x_ptr + offsets) * 2",
    "address in a function": "x = x_ptr + offsets\nx = tl.maximum(x, 0.0)",
    "address in a sum of all": "x = x_ptr + offsets\nx = x - tl.sum(x, axis=0)",
    "address of another type": "x = tl.abs(x_ptr + offsets)",
    "two addresses": "y = out_ptr + offsets\nz = x_ptr + offsets\nx = y + z",
    "address added at an address": "tl.atomic_add(out_ptr + offsets, x_ptr + n)",
    "pointer for other": "y = tl.load(x_ptr + offsets, mask=mask, other=x_ptr)",
    "half an offset, by a name": "p = x_ptr + offsets\nq = p + n / 2\nx = tl.load(q)",
    "pointer times a number": "x = tl.load(x_ptr * n + offsets)",
    "number and its address": "p = x_ptr + offsets\ny = tl.load(p)\nx = p * y",
    "shapes that do not fit": "y = tl.zeros((8,), tl.float32)\nx = x + y",
    "load with another mask": "x = tl.load(x_ptr + offsets, mask=tl.arange(0, 8) < 4)",
    "scalar store of a block": "tl.store(out_ptr, x)",
    "scalar store with a mask": "tl.store(out_ptr, tl.max(x, axis=0), mask=mask)",
    "scalar load with a mask": "y = tl.load(x_ptr, mask=mask)",
    "dot of vectors": "x = tl.dot(x, x)",
    "small dot": "a = tl.zeros((4, 4), tl.float32)\nb = tl.dot(a, a)",
    "sum of a wrong axis": "x = x + tl.sum(x, axis=1)",
    "max for maximum": "x = tl.max(x, x + 1)",
    "max for maximum, of a number": "x = tl.max(x, 0.0)",
    "max for maximum, the number first": "x = tl.max(0.0, x)",
    "sum of two": "x = tl.sum(x, x)",
    "maximum for max": "x = x - tl.maximum(x, axis=0)",
    "minimum of one block": "x = x - tl.minimum(x)",
    "unknown keyword": "x = tl.load(x_ptr + offsets, msk=mask)",
    "misspelt keyword of load": "x = tl.load(x_ptr + offsets, mask=mask, othr=0.0)",
    "other without mask": "x = tl.load(x_ptr + offsets, other=0.0)",
    "eviction policy": "x = tl.load(x_ptr + offsets, mask=mask, eviction_policy='evict_frist')",
    "return of a value": "return x",
    "return in a loop": "for i in range(n):\n    if i > 3:\n        return",
    "lambda": "f = lambda v: v * 2\nx = f(x)",
    "nested function": "def twice(v):\n    return v * 2\nx = twice(x)",
    "try": "try:\n    x = x + 1\nexcept ValueError:\n    x = x",
    "with": "with open('x') as f:\n    x = x",
    "assert on a value": "assert n > 0, 'no elements'",
    "raise": "if n < 1:\n    raise ValueError('no elements')",
    "range with float": "for i in range(0, n / 2):\n    x += 1",
    "enumerate": "for i, v in enumerate(range(4)):\n    x += i",
    "zip": "for i, j in zip(range(4), range(4)):\n    x += i",
    "for over a vector": "for v in x:\n    x += v",
    "len of a vector": "x = x / len(x)",
    "shape as a value": "x = x / x.shape[0].to(tl.float32)",
    "unpack too many": "a, b = x, x, x",
    "matrix product": "x = x @ x",
    "bit of a float": "x = x & 1",
    "shift of a float": "x = x << 1",
    "int of a vector": "x = int(x)",
    "float of a vector": "x = float(x)",
    "str": "name = str(n)\nx = x",
    "cast by name": "x = x.to('float16x')",
    "cast with python's type": "x = x.to(float)",
    "dtype of torch": "y = tl.zeros((BLOCK,), torch.float32)\nx = x + y",
    "static_assert": "tl.static_assert(BLOCK >= 64, 'BLOCK is too small')",
    "static_assert of a value": "tl.static_assert(n > 3)",
    "call of a kernel's helper without value": "y = double()\nx = x",
    "expand without None": "y = x[:, 0]\nx = x",
    "reshape to another size": "x = tl.reshape(x, (4, 8))",
    "atomic on a value": "tl.atomic_add(x, 1.0)",
    "program_id of axis 3": "p = tl.program_id(3)\nx = x + p",
    "too large a block": "y = tl.zeros((2097152,), tl.float32)\nx = x",
    "global statement": "global FACTOR\nx = x",
    "walrus": "x = (y := x + 1)",
    "starred": "a, *b = x, x, x",
    "del": "del mask\nx = x",
    "augmented into a tuple": "x, y += 1",
    "string times": "x = 'a' * 3",
    "import inside": "import numpy\nx = x",
    "match": "match n:\n    case 1:\n        x = x",
    "recursion": "x = add_kernel(x_ptr, out_ptr, n, BLOCK)",
    "multiple assignment": "a = b = x\nx = a",
}

# Launches: grid and options.
LAUNCHES = {
    "without a grid": ("None", OPTIONS),
    "three warps": (GRID, "BLOCK=16, num_warps=3"),
    "64 warps": (GRID, "BLOCK=16, num_warps=64"),
    "misspelt option": (GRID, "BLOCK=16, num_wraps=4"),
    "BLOCK of no power of two": (GRID, "BLOCK=100"),
    "BLOCK is missing": (GRID, ""),
    "BLOCK twice": (GRID, "16, BLOCK=16"),
    "an argument too many": (GRID, "16, 3"),
    "warps by position": (GRID, "16, FACTOR"),
    "a number for a grid": ("3", OPTIONS),
    "a tuple in a grid": ("((1,),)", OPTIONS),
    "None in a grid": ("(None,)", OPTIONS),
    "tl.cdiv in a grid": ("(tl.cdiv(16, 16),)", OPTIONS),
    "a float in a grid": ("(x.numel() / 16,)", OPTIONS),
    "four axes": ("(1, 1, 1, 1)", OPTIONS),
    "an empty tuple as a grid": ("()", OPTIONS),
    "too many programs in y": ("(1, 70000)", OPTIONS),
    "a tensor for BLOCK": (GRID, "BLOCK=x"),
    "a float for BLOCK": (GRID, "BLOCK=x.numel() / 2"),
}

# Whole launches that are written otherwise.
CALLS = {
    "no grid at all": "add_kernel(x, out, x.numel(), BLOCK=16)",
    "a numpy array": "add_kernel[(1,)](torch.zeros(16).numpy(), out, x.numel(), BLOCK=16)",
    "a tensor as a numpy array": "add_kernel[(1,)](x.numpy(), out, x.numel(), BLOCK=16)",
    "a tensor of the CPU": "add_kernel[(1,)](torch.zeros(16), out, x.numel(), BLOCK=16)",
    "a list": "add_kernel[(1,)](x.tolist(), out, x.numel(), BLOCK=16)",
    "a text": "add_kernel[(1,)]('x', out, x.numel(), BLOCK=16)",
    "a method for a number": "add_kernel[(1,)](x, out, x.numel, BLOCK=16)",
    "a size for a number": "add_kernel[(1,)](x, out, x.shape, BLOCK=16)",
    "a dtype": "add_kernel[(1,)](x, out, x.dtype, BLOCK=16)",
    "a complex tensor": "add_kernel[(1,)](x.to(torch.complex64), out, 3, BLOCK=16)",
    "a number for a pointer": "add_kernel[(1,)](3.5, out, x.numel(), BLOCK=16)",
    "one for a pointer": "add_kernel[(1,)](1, out, x.numel(), BLOCK=16)",
    "None for a pointer": "add_kernel[(1,)](None, out, x.numel(), BLOCK=16)",
    "a helper that is a kernel's": "double(x)",
    "a load beside the kernel": "tl.load(x)",
    "a kernel's function without its decorator": "add_kernel.fn(x, out, 16, 16)",
    "a helper that is no kernel": "helper[(1,)](x)",
}


def sources() -> dict[str, str]:
    """Return the kernel file of each mistake."""
    filled = {"body": "    x = x + 1", "grid": GRID, "options": OPTIONS}
    files = {}
    for name, body in BODIES.items():
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        files[name] = FILE.format(**filled | {"body": lines})
    for name, (grid, options) in LAUNCHES.items():
        files[name] = FILE.format(**filled | {"grid": grid, "options": options})
    whole = FILE.format(**filled)
    launch = whole.splitlines()[-1].strip()
    return files | {name: whole.replace(launch, call) for name, call in CALLS.items()}

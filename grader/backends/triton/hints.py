"""Advice on what Triton's compiler and its launches refuse, by a part of the sentence they say."""

from __future__ import annotations

_EACH_ELEMENT = (
    "`if`, `while`, `and` and `or` decide once for all elements of a block. For each element use "
    "tl.where(condition, a, b), or a mask; join conditions by & and |."
)
_BLOCK_SIZE = (
    "The size of a block is part of the compiled kernel: annotate the parameter with tl.constexpr, "
    "and pass an int, as in BLOCK=1024."
)
_POWER_OF_TWO = (
    "A block has a power of two elements: take triton.next_power_of_2(n), and mask those that are "
    "too many."
)
_NO_INDEX = (
    "A block has no single elements: x[:, None] and x[None, :] add an axis, and that is all. "
    "tl.load(pointer + offsets) reads elements of memory, tl.store writes them."
)
_ONE_TYPE = (
    "A variable of a kernel keeps its type and shape: start with tl.zeros((BLOCK,), tl.float32) or "
    "0.0, as the loop or the other branch has it."
)
_SHAPES = (
    "Shapes must be equal, or 1 where they are not: x[:, None] and x[None, :] add an axis of 1."
)
_OWN_FUNCTION = (
    "A kernel calls functions of tl, and your own that have @triton.jit above them; not torch's, "
    "NumPy's or plain Python's."
)
_OF_TL = "Inside a kernel use tl's functions, such as tl.exp, tl.sqrt, tl.sum and tl.cdiv."
_ARGUMENTS = "Compare the launch's arguments with the parameters of the kernel."
_WHAT_A_LAUNCH_TAKES = (
    "A launch takes tensors, ints, floats, bools, None, and tuples of them: x and not x.numpy(), "
    "x.shape[0] and not x.shape, x.numel() and not x.numel."
)

# The first part that the sentence contains decides.
COMPILER = {
    "more kernels than are compiled": "Each value of a tl.constexpr makes another kernel: make "
    "what changes from launch to launch an ordinary argument.",
    "Boolean value of Tensor": _EACH_ELEMENT,
    "must be 1-bit signless integer": _EACH_ELEMENT,
    "Ternary expression with dynamic condition": "`a if condition else b` decides once for a whole "
    "block. For each element write tl.where(condition, a, b).",
    "simultaneous multiple comparison": "Write both comparisons: (0 <= i) & (i < n).",
    "type: Break": "A kernel's `for` runs to its end. Put the condition into a `while`, or mask "
    "what the further turns would do.",
    "type: Continue": "A kernel's loop has no `continue`. Put the rest of the turn under an `if`.",
    "`return` statements inside": "Set a variable, and return after the loop; or put the condition "
    "into a `while`.",
    "f-string": "A kernel's texts are fixed when it is compiled. Print values as arguments: "
    'tl.device_print("x", x).',
    "type: Raise": "A kernel raises nothing. Check values before the launch, or with "
    "tl.device_assert.",
    "unsupported AST node type": "A kernel is compiled: it has arithmetic, assignments, `if`, "
    "`for` over range(...), `while` and calls, and no more of Python.",
    "multiple assignment": "Assign one variable at a time: `a = x`, then `b = x`.",
    "StopIteration()": "Define helpers outside of the kernel, with @triton.jit above them.",
    "AssertionError()": "A kernel is compiled: it knows only a part of Python. Write this line in "
    "simpler steps.",
    "Cannot access global variable": "Make it a constant, NAME = tl.constexpr(2), or pass it to "
    "the kernel as an argument.",
    "is not defined": "Look for a misspelling, or for a name that only a loop or one branch of an "
    "`if` assigns. Of Python's own functions a kernel has range, min, max, len, int, float and "
    "print.",
    "Unsupported function referenced": _OWN_FUNCTION,
    "must be real number, not tensor": "math's functions take Python's numbers. " + _OF_TL,
    "has no attribute 'tanh'": "tanh is in libdevice: from triton.language.extra import libdevice, "
    "and then libdevice.tanh(x).",
    "module 'triton.language' has no": "Look for a misspelling: tl has no such name. More "
    "functions are in tl.math and in triton.language.extra.libdevice.",
    "'tensor' object has no attribute": "A block has few methods, such as x.to(tl.float32). "
    + _OF_TL,
    "got an unexpected keyword argument": "Look for a misspelling: tl.load has mask= and other=, "
    "tl.store has mask=, reductions have axis=.",
    "has no attribute append": "A list in a kernel is fixed, like a tuple: a block made with "
    "tl.zeros holds what a loop collects.",
    "'MatMult' object": "tl.dot(a, b) multiplies matrices, with 16 or more along the common axis.",
    "int() argument": "Convert a block with x.to(tl.int32).",
    "float() argument": "Convert a block with x.to(tl.float32).",
    "could not be determined at compile-time": "tl.static_assert sees tl.constexpr values; "
    "tl.device_assert sees all others, when the kernel runs.",
    "has no len()": "A block's sizes are those that it was made with, such as BLOCK.",
    "Loop-carried variable": _ONE_TYPE,
    "Mismatched type for": _ONE_TYPE,
    "must be a power of 2": _POWER_OF_TWO,
    "arange's arguments must be": _BLOCK_SIZE,
    "must have type `constexpr": _BLOCK_SIZE,
    "exceeds triton maximum tensor numel": "A block has at most 1,048,576 elements: let a program "
    "take several smaller ones in a loop.",
    "_semantic": "A pointer is no array: tl.load(pointer + offsets, mask=...) reads from it. "
    "Elsewhere: " + _OWN_FUNCTION,
    "__setitem__": "A pointer is no array: tl.store(pointer + offsets, values, mask=...) writes "
    "to it.",
    "unsupported tensor index": _NO_INDEX,
    "Unsupported ptr type": "The first argument is an address: a pointer that the launch passed, "
    "plus offsets.",
    "Pointer argument of": "The first argument is an address: a pointer that the launch passed, "
    "plus offsets.",
    "invalid operands of type pointer": "Offsets are integers: divide with //.",
    "invalid operands of type": "This operator takes integers: compare floats, or convert with "
    ".to(tl.int32).",
    "incompatible dimensions": _SHAPES,
    "cannot be block type if pointer": "One address takes one value. Add offsets to the pointer, "
    "or reduce the block with tl.sum.",
    "`other` cannot be provided": "other= fills the lanes that the mask leaves out: pass mask=, "
    "too.",
    "bounds and step must all be ints": "Divide with //, or use tl.cdiv.",
    "has no attribute 'func'": "A kernel's `for` goes over range(...), tl.range(...) or "
    "tl.static_range(...).",
    "has no attribute 'scalar'": "Types are those of tl: x.to(tl.float32).",
    "has no attribute 'to_ir'": "Types are those of tl: tl.float32, and not torch.float32.",
    "KeyError(": "A kernel cannot call itself.",
}

LAUNCH = {
    "'function' object is not subscriptable": "Only a function with @triton.jit above it is a "
    "kernel, which kernel[grid](...) launches; any other is called with () alone.",
    "Cannot call @triton.jit'd outside": "Launch a kernel on a grid of programs: "
    "kernel[(programs,)](...).",
    "num_warps must be a power of 2": "Take 1, 2, 4, 8, 16 or 32 warps.",
    "was specified but unrecognised": "Look for a misspelling: options are num_warps, num_stages "
    "and num_ctas, and all else are parameters of the kernel.",
    "dynamic_func() missing": "A parameter of the kernel gets no argument; tl.constexpr ones are "
    "passed by name, as in BLOCK=1024.",
    "dynamic_func()": _ARGUMENTS,
    "object of type 'int' has no len()": "A grid is a tuple, with a comma even for one axis: "
    "kernel[(programs,)](...).",
    "'float' object cannot be interpreted as an integer": "A grid counts programs: round up with "
    "triton.cdiv(n, BLOCK).",
    "tuple index out of range": "A grid has one to three axes.",
    "failed to specialize argument": _WHAT_A_LAUNCH_TAKES,
    "device type tensor to numpy": _WHAT_A_LAUNCH_TAKES,
    "(cpu tensor?)": "A kernel takes tensors on the GPU: make them there, as in "
    "torch.empty(n, device=x.device).",
    "Torch not compiled with CUDA enabled": "The simulated GPU has no such part of torch.cuda: "
    "docs/simulated-gpu.md lists the parts that it has.",
    "out of resource: threads": "A program has at most 1,024 threads, which are 32 warps.",
}

WIDEN = "Compute it in 64 bits: give a factor `.to(tl.int64)`, as in row.to(tl.int64) * stride."

BLOCKS = (
    "Load a block at once, not an element: `offsets = start + tl.arange(0, BLOCK)`, then "
    "`tl.load(x_ptr + offsets, mask=offsets < n)`. If it does, look for a loop that never ends, or "
    "for more programs than the work needs. A GPU may finish this kernel, slowly: so here it is "
    "neither right nor wrong."
)

# Of the messages about an access out of bounds.
WRAPPED = {"an offset computed in": WIDEN}

"""Hints about mistakes in numba CUDA kernels, by the kind of the failure and by its message."""

from __future__ import annotations

from grader.model import Advice

FAULTS = {
    "compile": "numba compiles a part of Python for a GPU: numbers, elements of arrays, Python's "
    "math and the names of cuda.",
    "divergent_barrier": "All threads of a block must come to the same cuda.syncthreads(): move it "
    "out of the branch, or the loop, that only some of them take.",
    "divergent_shuffle": "All threads that the mask of a shuffle or vote names must come to it: "
    "move it out of the branch that only some of them take, and give the others a value that "
    "changes nothing.",
    "launch_refused": "A launch is kernel[blocks, threads](...): at least one block, 1 to 1,024 "
    "threads in each, and at most 48 KiB of shared memory.",
    "out_of_bounds": "Each access needs an `if` that checks that its index lies inside the array.",
    "race": "Put a barrier that all threads come to between the two accesses. If both are one "
    "line, give each element to one thread.",
}
# By a part of the simulator's question about an index, where the cause is not a missing check.
OUTSIDE: dict[str, str | Advice] = {
    "its two indices exchanged": "The first index of a table is the row and the second the column; "
    "x is the column by custom. If they are in order, the access needs an `if` that checks that "
    "they lie inside the array.",
    "one too large": "The first element has the index 0, so that the last of n has n - 1. If the "
    "index is meant, the access needs an `if` that checks that it lies inside the array.",
}
# By a part of the simulator's message on a race that no barrier can prevent.
RACES: dict[str, str | Advice] = {
    "blocks run in any order": Advice(
        "race",
        "Blocks do not wait for each other, not even at a barrier. Give each block elements of "
        "its own: is the block's number missing in the index? If the results of all blocks belong "
        "into one element, add them with cuda.atomic.add(array, index, value).",
    ),
    "both run that line": Advice(
        "race", "Let each thread write an element of its own, or only one of them write."
    ),
}
# By a part of the simulator's reason to refuse a launch.
LAUNCHES: dict[str, str | Advice] = {
    "at least one block,": Advice(
        "tail",
        "Does the number of blocks round up? A few elements, fewer than a block "
        "has threads, need a block, too.",
    ),
}
TUPLE = (
    "A tuple is used as one number. cuda.grid(1) gives one number, but cuda.grid(2) two: "
    "x, y = cuda.grid(2). a.shape has one for each dimension, such as a.shape[0]."
)
OF_CUDA = (
    "The names of threads and blocks begin with `cuda.`, such as cuda.threadIdx.x and "
    "cuda.syncthreads()."
)
ARRAY_AS_SIZE = (
    "A launch is kernel[blocks, threads](...) with two numbers, or tuples of numbers: neither may "
    "be an array, whose length is a.size, nor None, which a function without `return` gives."
)
OF_MATH = (
    "In a kernel, Python's math is there: write `import math` at the top of the file, and "
    "math.exp(x), for example."
)
THREADS_TOO = (
    "A launch is kernel[blocks, threads](...): give the number of threads in a block, too."
)
ELEMENTS = "A kernel works with single elements, such as a[i], not with whole arrays."
# By a part of an error of Python, numpy or the simulator that does not name the mistake.
EXCEPTIONS: dict[str, str | Advice] = {
    "'function' object is not subscriptable": "Only a function with @cuda.jit above it is a "
    "kernel, which kernel[blocks, threads](...) launches; any other is called with () alone.",
    "'int' object is not callable": "A number is called as if it were a function: "
    "cuda.threadIdx.x and a.size, for example, are numbers, and take no ().",
    "'threadIdx' is not defined": OF_CUDA,
    "'blockIdx' is not defined": OF_CUDA,
    "'blockDim' is not defined": OF_CUDA,
    "'syncthreads' is not defined": OF_CUDA,
    "'np' is not defined": OF_MATH,
    "'numpy' is not defined": OF_MATH,
    "'math' is not defined": OF_MATH,
    "'exp' is not defined": OF_MATH,
    "'NoneType' object is not subscriptable": "A function without `return` gives None. If it "
    "changes an array in place, call it alone: without a name and `=` before it.",
    "Cannot interpret '": "The shape of an array of two axes is one argument, a tuple: "
    "cuda.shared.array((32, 33), float32), for example.",
    "an array has no": "An array in a kernel has elements, such as out[i], and the numbers .size "
    "and .shape. It cannot grow: write out[i] = value.",
    "'Index'": "cuda.threadIdx, cuda.blockIdx and cuda.blockDim have the parts .x, .y and .z, each "
    "a number.",
    "'tuple' and": TUPLE,
    "and 'tuple'": TUPLE,
    "setting an array element with a sequence": "One element takes one number, not several: is an "
    "index missing, as in a[i]?",
    "too many indices for array": "A row of elements takes one index, a[i], and a table two, "
    "a[row, column].",
    "must be Tensor": Advice(
        "host_library",
        "torch works on tensors, not on the numbers in a kernel, for which Python's "
        "math is there: math.exp for torch.exp, for example.",
    ),
    "only integers, slices": "An index must be a whole number: cuda.threadIdx, for example, has "
    "the parts .x, .y and .z, and / gives no whole number, but // does.",
    "'Array'": ELEMENTS,
    "must be real number, not": ELEMENTS,
    "must specify at least the griddim": THREADS_TOO,
    "object of type 'int' has no len()": "A number has no length. " + THREADS_TOO,
    "griddim must be": "The number of blocks must be whole, or a tuple of such numbers: / gives "
    "no whole number, but // does.",
    "blockdim must be": "The number of threads must be whole, or a tuple of such numbers: / "
    "gives no whole number, but // does.",
    "launch configuration was not": ARRAY_AS_SIZE,
    "is computed in the kernel": "No compiler for a GPU takes that: write plain numbers, or the "
    "name of a constant that the file computes outside of the kernel, such as WIDTH = TILE + 1.",
    "is not known before the kernel runs": Advice(
        "arange_not_constant",
        "The compiler must know it: write plain numbers, or a constant of the file.",
    ),
    "by in cuda.shfl": "/ gives no whole number, but // does.",
    "unhashable type": ARRAY_AS_SIZE,
    "cuda.shfl": "A shuffle is called as cuda.shfl_down_sync(mask, value, by): first comes a mask, "
    "such as 0xFFFFFFFF, and then the value.",
    "cuda.atomic": "An atomic addition is called as cuda.atomic.add(array, index, value): the "
    "array and the index are two arguments, not array[index].",
    "cuda.grid()": "cuda.grid(1) is a thread's number among those of all blocks, along x, and "
    "cuda.grid(2) gives two numbers, along x and y.",
    "argument: 'dtype'": "An array needs the type of its elements, too, such as "
    "cuda.shared.array(64, float32).",
}
# By a part of what numba's compiler refuses.
REFUSED: dict[str, str | Advice] = {
    "none cannot be stored": "None is what a function without `return` gives: end the function "
    "with `return` and its result.",
    "more kernels than are compiled": "Other types of arguments make another kernel, and so does "
    "another number of threads in a block: launch all blocks with the same.",
    "takes no (bool)": "A vote takes a whole number here: write 1 if x > 0 else 0 for x > 0.",
    "works on numbers, and here it gets": "A thread takes single elements, such as a[i]. A loop "
    "over them finds the largest with `highest = max(highest, a[i])`, and the sum with "
    "`total += a[i]`.",
    "cuda.atomic.inc": "cuda.atomic.inc and dec take arrays of uint32 and uint64; "
    "cuda.atomic.add takes others, too.",
    "cuda.atomic.dec": "cuda.atomic.inc and dec take arrays of uint32 and uint64; "
    "cuda.atomic.sub takes others, too.",
    "on whole arrays": Advice(
        "host_library",
        "Numpy's functions do not work on single numbers in a kernel: write "
        "math.exp for np.exp, for example.",
    ),
    "is a plain function": Advice(
        "host_function", "Write @cuda.jit(device=True) above each function that a kernel calls."
    ),
    "a list": Advice(
        "python_list",
        "Threads have no lists: use cuda.local.array, a tuple, or an array as an argument.",
    ),
    "a tuple of 1 ": "An index along one axis is a number, without the comma that makes a tuple.",
    "is nothing that a kernel": "A kernel uses numbers, tuples and arrays of the file, functions "
    "with @cuda.jit(device=True) above them, and cuda's names with `cuda.` in front.",
    "in one place and": "A variable has one type in the whole kernel: give it another name, or "
    "the same kind of value in both places.",
    "it returns a value": Advice(
        "value_returned",
        "A kernel writes its answer into an array, such as out[i] = value, and "
        "`return` alone ends a thread early.",
    ),
    "cannot be changed": "Pass the array to the kernel as an argument.",
}
# By a part of the simulator's message on unwritten values, except those of shared memory.
UNWRITTEN: dict[str, str | Advice] = {
    "has not set it before": "A thread has only the variables that it set itself: what stands "
    "under an `if` or in a loop that it did not run has no value there. Move this line to where "
    "the variable is set, or give the variable a value before.",
}
MESSAGES = {
    "out_of_bounds": OUTSIDE,
    "uninitialised": UNWRITTEN,
    "race": RACES,
    "launch_refused": LAUNCHES,
    "exception": EXCEPTIONS,
    "compile": REFUSED,
}

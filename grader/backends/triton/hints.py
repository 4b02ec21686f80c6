"""Advice on what Triton's compiler and its launches refuse, by a part of the sentence they say."""

from __future__ import annotations

from grader.model import Advice

_EACH_ELEMENT = (
    "`if` and `while` decide once for all elements of a block. For each element use "
    "tl.where(condition, a, b), or a mask; join conditions by & and |."
)
_BLOCK_SIZE = (
    "The size of a block is part of the compiled kernel: write a number, such as 64, and mask "
    "what is too much, or annotate the parameter with tl.constexpr and pass an int, as in "
    "BLOCK=1024."
)
_POWER_OF_TWO = (
    "A block has a power of two elements: take triton.next_power_of_2(n), and mask those that are "
    "too many."
)
_NO_INDEX = (
    "A block has no single elements: x[:, None] and x[None, :] add an axis, and that is all. "
    "tl.load(pointer + offsets) reads elements of memory, tl.store writes them."
)
_NO_ARRAY = (
    "A pointer is the address of the first element, not an array. Where some lanes lie past the "
    "end, add `mask=`."
)
_ADDRESS = (
    "To an address a kernel adds whole offsets, and divides them with //. The number there is "
    "tl.load(pointer + offsets)."
)
_ONE_TYPE = (
    "A variable keeps its type and shape. The message names both: fp32 is one number, as 0.0 is, "
    "and fp32[N] a vector of N. Where the loop or the other branch makes a vector, begin with "
    "one, such as tl.zeros((BLOCK,), tl.float32)."
)
_ONE_NUMBER = (
    "Keep the vector in the loop, lane by lane, as in tl.maximum(maxima, x) or sums + x. Make one "
    "number of it after the loop, with tl.max or tl.sum."
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

_SCALAR_BOUNDS = (
    "A loop counts from one number to another: of a block take one with tl.sum or tl.max, or pass "
    "the length as an argument."
)
_NO_OPERATOR = (
    "A kernel has the operators of numbers: + - * / // % & | ^ << >> < <= > >= == != and not."
)
_DOT_SHAPES = (
    "tl.dot(a, b) takes tables of (M, K) and (K, N), each side 16 or more; vectors are multiplied "
    "with tl.sum(a * b)."
)
_DOT_TYPES = (
    "tl.dot takes two tables of one type, such as float16, and adds in float32: round the result "
    "with .to(...)."
)
_AXES = (
    "A block of one axis is reduced along axis=0; the axes of a table are 0 (down) and 1 (across)."
)
_AXIS = "A grid has up to three axes: tl.program_id(0) is the program's number along the first."
_COUNTS = (
    "tl.arange takes both ends: tl.arange(0, 8) counts from 0 to 7. Multiply it for another step."
)
_FULL = (
    "A block has a shape and a type: tl.zeros((128,), tl.float32), or of another number "
    "tl.full((128,), 1.0, tl.float32)."
)
_LARGER = (
    "tl.max(x, axis=0), tl.min and tl.sum make one number of one block. The larger of two, lane by "
    "lane, is tl.maximum(a, b)."
)
_RANGES = "The number does not fit its type: 2**31 and more need .to(tl.int64)."
_TYPES = "Types are those of tl: tl.float32, tl.float16, tl.int32 and so on."

# The first part that the sentence contains decides.
COMPILER: dict[str, str | Advice] = {
    "more kernels than are compiled": "Each value of a tl.constexpr makes another kernel: make "
    "what changes from launch to launch an ordinary argument.",
    "Boolean value of Tensor": _EACH_ELEMENT,
    "must be 1-bit signless integer": _EACH_ELEMENT,
    "Ternary expression with dynamic condition": "`a if condition else b` decides once for a whole "
    "block. For each element write tl.where(condition, a, b).",
    "simultaneous multiple comparison": Advice(
        "operator_precedence",
        "Each comparison needs parentheses of its own, because `&` binds more tightly than `<`: "
        "(0 <= i) & (i < n).",
    ),
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
    "Cannot access global variable": Advice(
        "missing_constexpr",
        "Make it a constant, NAME = tl.constexpr(2), or pass it to the kernel as an argument.",
    ),
    "np is not defined": Advice(
        "host_library",
        "NumPy works on whole arrays on the host, and a kernel has none of it. " + _OF_TL,
    ),
    "is not defined": "Look for a misspelling, or for a name that only a loop or one branch of an "
    "`if` assigns. Of Python's own functions a kernel has range, min, max, len, int, float and "
    "print.",
    "Unsupported function referenced": _OWN_FUNCTION,
    "must be real number, not tensor": Advice(
        "python_math", "math's functions take Python's numbers. " + _OF_TL
    ),
    "has no attribute 'tanh'": "tanh is in libdevice: from triton.language.extra import libdevice, "
    "and then libdevice.tanh(x).",
    "has no attribute 'ones'": _FULL,
    "has no attribute 'empty'": _FULL,
    "module 'triton.language' has no": "Look for a misspelling: tl has no such name. More "
    "functions are in tl.math and in triton.language.extra.libdevice.",
    "'tensor' object has no attribute": "A block has few methods, such as x.to(tl.float32). "
    + _OF_TL,
    "missing a required argument: 'dtype'": _FULL,
    "full() missing": _FULL,
    "full() got an unexpected": _FULL,
    "has no attribute 'is_fp8'": _FULL,
    "'dtype' object is not iterable": _FULL,
    "'int' object is not iterable": "A shape is a tuple, with a comma even for one axis: "
    "tl.zeros((128,), tl.float32).",
    "a shape is a tuple of constants": Advice("arange_not_constant", _BLOCK_SIZE),
    "program_id() missing": _AXIS,
    "num_programs() missing": _AXIS,
    "arange() missing": _COUNTS,
    "arange() got an unexpected": _COUNTS,
    "tl.arange gets an argument too many": _COUNTS,
    "gets an argument too many": "Compare the call with what the function takes, such as "
    "tl.program_id(0), tl.exp(x) and tl.maximum(a, b).",
    "where() missing": "tl.where(condition, a, b) takes a where the condition holds, and b "
    "elsewhere.",
    "maximum() got an unexpected keyword argument 'axis'": _LARGER,
    "minimum() got an unexpected keyword argument 'axis'": _LARGER,
    "maximum() missing": _LARGER,
    "minimum() missing": _LARGER,
    "tl.sum takes one block": "tl.sum(x, axis=0) makes one number of one block. The sum of two, "
    "lane by lane, is a + b.",
    "takes one block and its axis": _LARGER,
    "got an unexpected keyword argument": "Look for a misspelling: tl.load has mask= and other=, "
    "tl.store has mask=, reductions have axis=.",
    "has no attribute append": Advice(
        "python_list",
        "A list in a kernel is fixed, like a tuple: a block made with "
        "tl.zeros holds what a loop collects.",
    ),
    "'MatMult' object": "tl.dot(a, b) multiplies matrices, with 16 or more along the common axis.",
    "int() argument": "Convert a block with x.to(tl.int32).",
    "float() argument": "Convert a block with x.to(tl.float32).",
    "could not be determined at compile-time": "tl.static_assert sees tl.constexpr values; "
    "tl.device_assert sees all others, when the kernel runs.",
    "has no len()": "A block's sizes are those that it was made with, such as BLOCK.",
    "] but is re-assigned to fp32 in loop": Advice("loop_changes_type", _ONE_NUMBER),
    "Loop-carried variable": Advice("loop_changes_type", _ONE_TYPE),
    "Mismatched type for": Advice("loop_changes_type", _ONE_TYPE),
    "must be a power of 2": Advice("arange_not_power_of_two", _POWER_OF_TWO),
    "arange's arguments must be": Advice("arange_not_constant", _BLOCK_SIZE),
    "must have type `constexpr": Advice("arange_not_constant", _BLOCK_SIZE),
    "exceeds triton maximum tensor numel": "A block has at most 1,048,576 elements: let a program "
    "take several smaller ones in a loop.",
    "a pointer has no index: write tl.load": Advice("pointer_indexed", _NO_ARRAY),
    "a pointer has no index": Advice("pointer_assigned", _NO_ARRAY),
    "a block cannot be assigned to": "A block is changed as a whole: tl.where(condition, a, b) "
    "takes a where the condition holds, and b elsewhere.",
    "taken out of a block by an index": _NO_INDEX + " tl.where(condition, a, b) chooses lane by "
    "lane.",
    "is used like a list": "tl.load(pointer + offsets) reads elements, tl.store writes them, and "
    "tl.sum or tl.max make one number of a block. " + _OWN_FUNCTION,
    "unsupported tensor index": _NO_INDEX,
    "Unsupported ptr type": "The first argument is an address: a pointer that the launch passed, "
    "plus offsets.",
    "Pointer argument of": "The first argument is an address: a pointer that the launch passed, "
    "plus offsets.",
    "is an address": "tl.load reads the number that is stored at an address. A kernel "
    "computes with numbers, and only adds whole offsets to addresses.",
    "invalid operands of type pointer": _ADDRESS,
    "cannot cast pointer": _ADDRESS,
    "got pointer<": _ADDRESS,
    "'pointer_type' object has no attribute": _ADDRESS,
    "invalid operands of type": "This operator takes integers: compare floats, or convert with "
    ".to(tl.int32).",
    "incompatible dimensions": _SHAPES,
    "Mask argument cannot be block type if pointer": Advice(
        "formula",
        "One address needs no mask: leave it out. For more than one, add offsets to the pointer, "
        "one for each lane.",
    ),
    "cannot be block type if pointer": Advice(
        "formula",
        "One address takes one value. Reduce the block first, with tl.sum or tl.max; or add "
        "offsets to the pointer, one for each lane.",
    ),
    "`other` cannot be provided": "other= fills the lanes that the mask leaves out: pass mask=, "
    "too.",
    "bounds and step must all be ints": "Divide with //, or use tl.cdiv.",
    "has no attribute 'func'": "A kernel's `for` goes over range(...), tl.range(...) or "
    "tl.static_range(...).",
    "'tuple_type' object has no attribute 'scalar'": "A list or tuple takes no part in arithmetic: "
    "tl.zeros((BLOCK,), tl.float32) makes a vector.",
    "has no attribute 'scalar'": "Types are those of tl: x.to(tl.float32).",
    "has no attribute 'to_ir'": Advice(
        "host_library", "Types are those of tl: tl.float32, and not torch.float32."
    ),
    "axis must be 0, 1, or 2": "A grid has three axes, 0 to 2: put more of them into one, and take "
    "it apart with // and %.",
    "arange's end argument must be greater": _COUNTS,
    "arange must fit in int32": "A block begins near 0: add large offsets to it afterwards.",
    "For lower bound must be a scalar": _SCALAR_BOUNDS,
    "For upper bound must be a scalar": _SCALAR_BOUNDS,
    "For step must be a scalar": _SCALAR_BOUNDS,
    "iterators are currently supported": "A kernel's `for` goes over range(...), tl.range(...) or "
    "tl.static_range(...).",
    "used as tl.static_range": "tl.static_range is unrolled when the kernel is compiled: its "
    "bounds are tl.constexpr. range(...) takes all others.",
    "else after for": "A kernel's `for` has no `else`.",
    "nested comprehensions": "Write loops, or use a block: a kernel's Python has no nested "
    "comprehensions.",
    "nested function definition": "Define helpers outside of the kernel, with @triton.jit above "
    "them.",
    "AST binary operator": _NO_OPERATOR,
    "AST comparison operator": _NO_OPERATOR,
    "AST unary operator": _NO_OPERATOR,
    "AST boolean operator": _NO_OPERATOR,
    "is not a triton value": "What a loop carries on is a number or a block: start it before the "
    "loop with 0.0 or tl.zeros.",
    "cannot reassign constexpr": "A tl.constexpr stays as it is: give the changing number another "
    "name.",
    "constexpr cannot be reassigned": "A tl.constexpr stays as it is: give the changing number "
    "another name.",
    "initial value for": Advice("loop_changes_type", _ONE_TYPE),
    "Loop carried variable": Advice("loop_changes_type", _ONE_TYPE),
    "`if` conditionals can only accept": _EACH_ELEMENT,
    "Inconsistent return types": "All `return`s of a function give the same type: write "
    "tl.where(condition, a, b), or convert with .to(...).",
    "marked noinline, but was called with non-scalar": "A function with noinline=True takes single "
    "numbers only: take that option away.",
    "tensors must have the same rank": _SHAPES,
    "tensor dims must match": _SHAPES,
    "Cannot broadcast": _SHAPES,
    "expanded size of the tensor": _SHAPES,
    "cannot change total number of elements": _SHAPES,
    "permute dims must": "tl.trans(x) of a table exchanges its two axes; more axes are listed, "
    "each once.",
    "tl.trans invoked with": "A transposition takes a table: x[:, None] and x[None, :] add an "
    "axis.",
    "only accepts size-1 tensor": "One number is taken from a block with tl.sum or tl.max, and "
    "from memory with tl.load(pointer + i).",
    "can only unsplat single-element": "One number is taken from a block with tl.sum or tl.max.",
    "Cannot splat a block": "A block stays a block: x[:, None] adds an axis, and tl.broadcast_to "
    "repeats it.",
    "to tensor": "A kernel's values are numbers and blocks: text, lists and tuples are none.",
    "must have equal ranks": _DOT_SHAPES,
    "must have equal batch shapes": _DOT_SHAPES,
    "must have equal reduction dimensions": _DOT_SHAPES,
    "Both inputs must be either 2D or 3D": _DOT_SHAPES,
    "are not compatible for matmul": _DOT_SHAPES,
    "Input shapes should have M": _DOT_SHAPES,
    "accumulator shape is incompatible": _DOT_SHAPES,
    "Unsupported lhs dtype": _DOT_TYPES,
    "Unsupported rhs dtype": _DOT_TYPES,
    "Both operands must be same dtype": _DOT_TYPES,
    "out_dtype=bfloat16 is unsupported": _DOT_TYPES,
    "Only float32 is supported for out_dtype": _DOT_TYPES,
    "input_precision": 'tl.dot takes input_precision="ieee" for exact float32, "tf32" or "tf32x3".',
    "reduction axis must be": _AXES,
    "scan axis": _AXES,
    "invalid axis": _AXES,
    "duplicate axes": _AXES,
    "inputs must have the same shape": _SHAPES,
    "histogram only supports": "tl.histogram takes a block of integers along one axis.",
    "different signedness": "Convert both sides to one type: x.to(tl.int32).",
    "unsigned tensor and a negative scalar": "Convert first: x.to(tl.int32).",
    "cannot add pointers": "Add an integer offset to a pointer, not another pointer: "
    "tl.load(pointer + offsets) reads what is there.",
    "fdiv must have floating": "Divide with /, or convert with .to(tl.float32).",
    "floating point clamp": "tl.clamp takes floats: use tl.minimum and tl.maximum for integers.",
    "wrong type argument to unary": "A minus belongs before a number, not before a pointer.",
    "Nonrepresentable integer": _RANGES,
    "is out of range for type": _RANGES,
    "cannot cast": _TYPES,
    "Cannot bitcast": _TYPES,
    "create_reduce()": _LARGER,
    "Invalid rounding mode": 'fp_downcast_rounding is "rtne", to the nearest number, or "rtz".',
    "fp_downcast_rounding should be set only": "Rounding is chosen where bits are lost: from a "
    "wider float to a narrower one.",
    "Mask must have boolean": "A mask is a comparison, such as offsets < n.",
    "cannot be specified for loading block pointers": "A block pointer has boundary_check= and "
    "padding_option= in place of mask= and other=.",
    "`boundary_check` argument is not supported": "Pointers plus offsets take mask= and other=.",
    "Cannot store to a constant pointer": "Store to an output: this pointer is only to be read.",
    "Expected pointer argument to have shape": _SHAPES,
    "expected pointer": _SHAPES,
    "atomic_": "tl.atomic_add takes float32, float64 and integers of 32 or 64 bits: convert first, "
    "or add in float32 and round at the end.",
    "Eviction policy": 'eviction_policy is "", "evict_first" or "evict_last".',
    "Cache modifier": 'cache_modifier is "", ".ca", ".cg" or ".cv"; most kernels need none.',
    "Memory semantic": 'sem is "acquire", "release", "acq_rel" or "relaxed".',
    "propagate_nan": "tl.maximum takes propagate_nan=tl.PropagateNan.ALL or NONE.",
    "`static_assert` requires": 'tl.static_assert(condition, "text").',
    "min requires at least 2": "min and max of a kernel take two numbers; tl.min and tl.max "
    "reduce a block.",
    "not supported in this architecture": "This GPU has no such type: use float16 or bfloat16.",
    "Unsupported floating-point type": _TYPES,
    "Unsupported type": _TYPES,
    "Unexpected dtype": "tl.math takes float32 and float64: x.to(tl.float32).",
    "unexpected type": _TYPES,
    "has changed since we compiled": "A global that a kernel uses stays as it is: pass the number "
    "as an argument.",
    "@jit functions should be defined in a Python file": "Write the kernel into kernel.py itself: "
    "exec and eval leave no source that can be compiled.",
    "No valid autotuner configs": "Every configuration was refused: look at the sizes of blocks.",
    "Conflicting meta-parameters": "What @triton.autotune chooses is not passed at the launch.",
    "KeyError(": "A kernel cannot call itself.",
}

LAUNCH: dict[str, str | Advice] = {
    "'function' object is not subscriptable": "Only a function with @triton.jit above it is a "
    "kernel, which kernel[grid](...) launches; any other is called with () alone.",
    "has no @triton.jit above it": "Write @triton.jit above each function that uses tl, and launch "
    "the kernel: kernel[(programs,)](...).",
    "tl.cdiv is called outside of a kernel": "Beside the kernel it is triton.cdiv(n, BLOCK).",
    "is called outside of a kernel": "The functions of tl work in a kernel, which has @triton.jit "
    "above it; the function that launches it has tensors, and uses torch.",
    "Cannot call @triton.jit'd outside": Advice(
        "no_grid", "Launch a kernel on a grid of programs: kernel[(programs,)](...)."
    ),
    "num_warps must be a power of 2": Advice(
        "arange_not_power_of_two", "Take 1, 2, 4, 8, 16 or 32 warps."
    ),
    "was specified but unrecognised": "Look for a misspelling: options are num_warps, num_stages "
    "and num_ctas, and all else are parameters of the kernel.",
    "dynamic_func() missing": "dynamic_func is the kernel, and the launch passes it no such "
    "argument. Those of tl.constexpr are passed by name, as in BLOCK=1024.",
    "dynamic_func() takes": "dynamic_func is the kernel, and the launch passes it more than its "
    "parameters. Options are passed by name, as in num_warps=4.",
    "dynamic_func()": _ARGUMENTS,
    "object of type 'int' has no len()": Advice(
        "grid_not_tuple",
        "A grid is a tuple, with a comma even for one axis: kernel[(programs,)](...).",
    ),
    "'tuple' object cannot be interpreted as an integer": Advice(
        "grid_not_tuple",
        "A grid is one tuple of numbers: kernel[(programs,)](...), where programs is not a tuple.",
    ),
    "'NoneType' object cannot be interpreted as an integer": Advice(
        "grid_not_tuple", "A grid counts programs, and None counts none: is a `return` missing?"
    ),
    "'float' object cannot be interpreted as an integer": Advice(
        "grid_not_tuple", "A grid counts programs: round up with triton.cdiv(n, BLOCK)."
    ),
    "tuple index out of range": Advice("grid_not_tuple", "A grid has one to three axes."),
    "failed to specialize argument": _WHAT_A_LAUNCH_TAKES,
    "device type tensor to numpy": _WHAT_A_LAUNCH_TAKES,
    "(cpu tensor?)": "A kernel takes tensors on the GPU: make them there, as in "
    "torch.empty(n, device=x.device).",
    "Torch not compiled with CUDA enabled": "The simulated GPU has no such part of torch.cuda. "
    "It has devices, streams, events, seeds and sizes of memory.",
    "out of resource: threads": "A program has at most 1,024 threads, which are 32 warps.",
}

_LANE_BY_LANE = "max and min take two numbers. Of two blocks, lane by lane, write "
# By a part of a warning. The kernel compiles; another version of Triton may refuse it.
WARNINGS = {
    "Logical operators 'and' and 'or'": "`and` and `or` join two numbers. Between blocks write "
    "`&` and `|`, with each comparison in parentheses: (0 <= i) & (i < n). For `not` write `~`.",
    "builtin max on non-scalar": _LANE_BY_LANE + "tl.maximum(a, b).",
    "builtin min on non-scalar": _LANE_BY_LANE + "tl.minimum(a, b).",
}

WIDEN = "Compute it in 64 bits: give a factor `.to(tl.int64)`, as in row.to(tl.int64) * stride."

BLOCKS = (
    "Load a block at once, not an element: `offsets = start + tl.arange(0, BLOCK)`, then "
    "`tl.load(x_ptr + offsets, mask=offsets < n)`. If it does, look for a loop that never ends, or "
    "for more programs than the work needs. A GPU may finish this kernel, slowly: so here it is "
    "neither right nor wrong."
)

# Of the messages about an access out of bounds.
# By a part of the simulator's message on a race between a load and a store.
EXCHANGED = (
    "If no program shall read what another one stores, an address lacks the program's number. "
    "Otherwise load it in a second launch, which begins when the first has ended. Or count after "
    'the store with sem="release", and before the load wait for that count with sem="acquire".'
)
RACES: dict[str, str | Advice] = {" reads element ": EXCHANGED, " read in line ": EXCHANGED}
WRAPPED: dict[str, str | Advice] = {"an offset computed in": Advice("offset_overflow", WIDEN)}

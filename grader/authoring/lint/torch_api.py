"""Functions of torch and methods of its tensors, by their work: compute, copy, or neither."""

from __future__ import annotations

import re

from grader.authoring.lint.names import LENT


def words(*texts: str) -> frozenset[str]:
    return frozenset(word for text in texts for word in text.split())


# Functions of `torch` that make memory, make views, return facts or set something up. Functions
# that are in none of these lists compute.
_MEMORY = "empty empty_like empty_strided zeros zeros_like ones ones_like full full_like tensor"
_VIEWS = (
    "as_strided as_tensor broadcast_to from_dlpack from_numpy narrow permute reshape select "
    "squeeze transpose unflatten unsqueeze view_as_complex view_as_real"
)
_QUESTIONS = (
    "arange can_cast compile enable_grad inference_mode initial_seed load manual_seed no_grad "
    "numel promote_types result_type save"
)
_ASKING = ("get_", "has_", "init_", "is_", "set_", "use_")
_MODULES = (
    "accelerator amp ao autocast autograd backends classes compiler contrib cpp cpu cuda "
    "distributed distributions export func futures fx hub jit library masked monitor mps mtia "
    "multiprocessing nested nativert numa onnx optim overrides package profiler quantization "
    "quasirandom random return_types serialization signal sparse storage testing torch "
    "torch_version types utils version windows xpu"
)
_TYPES = (
    "bfloat16 bit bool cdouble cfloat chalf channels_last contiguous_format device double dtype e "
    "finfo float half iinfo inf int jagged layout long memory_format nan newaxis pi "
    "preserve_format qscheme short sparse_bsc sparse_bsr sparse_coo sparse_csc sparse_csr strided"
)
_SIZED_TYPE = re.compile(r"(bits|complex|float|q?u?int)\d+\w*")
# Most private names are modules. These are not.
_PRIVATE = ("_foreach_", "_fused_", "_log_softmax", "_scaled_", "_softmax", "_weight_")
COPIES = words("cat clone concat stack")
_ALLOWED = words(_MEMORY, _VIEWS, _QUESTIONS, _MODULES, _TYPES) | LENT | COPIES
_COMPUTING = words("fft functional linalg nn ops special _C _prims _refs")
_NO_WORK = {"torch.nn.Module", "torch.nn.Parameter", "torch.ops.load_library"}

# Methods of a tensor that make a view, return a fact, fill it with one value, copy it or bring it
# to the CPU. Other methods compute.
_VIEW_METHODS = words(
    _VIEWS,
    "as_strided_ chunk detach diagonal expand expand_as flatten movedim ravel requires_grad_ split "
    "squeeze_ swapaxes t unbind unfold unsqueeze_ view view_as",
)
_ASKING_METHODS = words(
    "data_ptr dim element_size fill_ get_device is_complex is_contiguous is_floating_point "
    "ndimension nelement new_empty new_empty_strided new_full new_ones new_tensor new_zeros numel "
    "pin_memory record_stream share_memory_ size storage_offset stride untyped_storage zero_"
)
COPYING_METHODS = words("bfloat16 clone contiguous copy_ cuda double float half int long to type")
FETCHING_METHODS = words("cpu copy_to_host item numpy tolist")
# Those that return no tensor.
NUMBER_METHODS = FETCHING_METHODS | words(
    "data_ptr dim element_size get_device is_complex is_contiguous is_floating_point ndimension "
    "nelement numel record_stream size storage_offset stride untyped_storage"
)
KNOWN_METHODS = _VIEW_METHODS | _ASKING_METHODS | COPYING_METHODS | FETCHING_METHODS
# These names belong to tensors alone: a call of one counts on any object.
SURELY_COMPUTE = words(
    "add_ addmm amax amin baddbmm bmm cross_entropy cumsum div_ einsum exp_ index_add_ log_ "
    "log_softmax logsumexp masked_fill_ matmul mm mul_ nll_loss relu_ rsqrt scatter_ "
    "scatter_add_ sigmoid sigmoid_ silu softmax sub_ true_divide"
)
SURELY_COPY = words("clone copy_")


def is_operation(path: str) -> bool:
    """Return whether a path is a function of torch that computes."""
    first, *rest = path.split(".")
    if first != "torch" or not rest or path in _NO_WORK or "__" in path:
        return False
    if rest[0] in _COMPUTING:
        return len(rest) > 1
    if rest[0] == "Tensor":
        return len(rest) > 1 and rest[1] not in KNOWN_METHODS
    return len(rest) == 1 and _is_computing(rest[0])


def _is_computing(name: str) -> bool:
    if name.startswith("_"):
        return name.startswith(_PRIVATE)
    # Types and constants such as `torch.Size` have capital letters, or sizes.
    named = name.islower() and not _SIZED_TYPE.fullmatch(name)
    return named and name not in _ALLOWED and not name.startswith(_ASKING)


def makes_a_tensor(path: str) -> bool:
    package, _, name = path.rpartition(".")
    made = name in words(_MEMORY, _VIEWS) | COPIES or name == "arange"
    return is_operation(path) or (package == "torch" and made)

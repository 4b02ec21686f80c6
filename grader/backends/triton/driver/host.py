"""Torch in the worker as it is on a machine with one GPU: devices of tensors, and `torch.cuda`.

All memory is the host's. Arguments of the entry, and what is made of them or for the device "cuda",
count as the GPU's; what a file makes without a device counts as the host's, which no kernel takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from types import SimpleNamespace
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode

from grader.backends.triton.driver import properties
from grader.backends.triton.driver.errors import NotSimulated
from grader.worker.leaves import leaves

GPU = torch.device("cuda", properties.DEVICE)
HOST = torch.device("cpu")
TO_NUMPY = (
    "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host "
    "memory first."
)
_NUMPY: set[Any] = {torch.Tensor.numpy, torch.Tensor.__array__}
_MOVES: set[Any] = {torch.Tensor.to, torch.Tensor.cpu}
# Torch switches all modes off for these, and reads memory.
_PRINTS: set[Any] = {torch.Tensor.__repr__, torch.Tensor.__format__}


class Host(TorchFunctionMode):
    """Answers for tensors which device they are on, and makes those for "cuda" in host memory."""

    def __init__(
        self, arena: Callable[[], range], opened: Callable[[object], AbstractContextManager[object]]
    ) -> None:
        super().__init__()
        self._arena = arena  # the addresses of the entry's arguments, once they are mapped
        self._opened = opened  # lets this process reach those among what it is given
        self._host: dict[int, StorageWeakRef] = {}
        self._answers: dict[Any, Callable[[torch.Tensor], object]] = {
            vars(torch._C.TensorBase)["device"].__get__: self.device_of,
            vars(torch._C.TensorBase)["is_cuda"].__get__: self.is_on_gpu,
            vars(torch._C.TensorBase)["is_cpu"].__get__: lambda x: not self.is_on_gpu(x),
            torch.Tensor.get_device: lambda x: properties.DEVICE if self.is_on_gpu(x) else -1,
            torch.Tensor.pin_memory: lambda x: x,
            torch.Tensor.is_pinned: lambda x: False,
        }

    def is_on_gpu(self, tensor: torch.Tensor) -> bool:
        return not self.holds(tensor.untyped_storage())

    def holds(self, storage: torch.UntypedStorage) -> bool:
        """Report whether memory is the host's, which a GPU does not reach."""
        reference = self._host.get(StorageWeakRef(storage).cdata)
        kept = reference is not None and not reference.expired()
        return kept and storage.data_ptr() not in self._arena()

    def device_of(self, tensor: torch.Tensor) -> torch.device:
        return GPU if self.is_on_gpu(tensor) else HOST

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in self._answers:
            return self._answers[func](args[0])
        if func in _NUMPY and self.is_on_gpu(args[0]):
            raise TypeError(TO_NUMPY)
        if func in _PRINTS:
            with self._opened(args):
                return func(*args, **kwargs)
        if func is torch.Tensor.tolist and self.is_on_gpu(args[0]):
            args = (args[0].clone(),)  # as from a GPU; torch reads the host's without an operation
        if func is torch.Tensor.cuda:
            func, args, kwargs = torch.Tensor.to, (args[0], GPU), {}
        given = [leaf for leaf in leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        target, args, kwargs = _target(func, args, kwargs, self)
        result = func(*args, **kwargs)
        if func in _MOVES and target is not None and target != self.device_of(given[0]):
            result = result.clone() if result.data_ptr() == given[0].data_ptr() else result
        if target is None:
            target = GPU if any(map(self.is_on_gpu, given)) else HOST
        if target == HOST:
            self._keep(result)
        return result

    def kept(self, make: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        """Return the function that notes of the tensors it makes that they are the host's."""

        def made(*args: Any, **options: Any) -> torch.Tensor:
            result = make(*args, **options)
            self._keep(result)
            return result

        return made

    def _keep(self, result: object) -> None:
        """Note that memory is the host's; that of views is so already."""
        for leaf in leaves(result):
            if type(leaf) is torch.Tensor and leaf.layout == torch.strided:
                reference = StorageWeakRef(leaf.untyped_storage())
                self._host.setdefault(reference.cdata, reference)
        if len(self._host) > 1024:
            self._host = {key: held for key, held in self._host.items() if not held.expired()}


def _target(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], host: Host
) -> tuple[torch.device | None, tuple[Any, ...], dict[str, Any]]:
    """Return the device that a call names, and its arguments with the CPU in the place of it."""
    kwargs.pop("pin_memory", None)
    if func is torch.Tensor.cpu:
        return HOST, args, kwargs
    named = kwargs.get("device")
    if named is not None and _has_memory(named):
        kwargs["device"] = HOST
    elif func is torch.Tensor.to and len(args) > 1:
        first = args[1]
        if isinstance(first, torch.Tensor):
            return host.device_of(first), args, kwargs
        if isinstance(first, (str, int, torch.device)) and _has_memory(first):
            named, args = first, (args[0], HOST, *args[2:])
    return (None if named is None else _device(named)), args, kwargs


def _has_memory(named: str | int | torch.device) -> bool:
    """Report whether a device is the host or a GPU; torch itself answers for others ("meta")."""
    return isinstance(named, int) or torch.device(named).type in (HOST.type, GPU.type)


def _device(named: str | int | torch.device) -> torch.device:
    device = torch.device(GPU.type, named) if isinstance(named, int) else torch.device(named)
    if device.type != GPU.type:
        return HOST
    if device.index not in (None, properties.DEVICE):
        raise RuntimeError("CUDA error: invalid device ordinal")
    return GPU


class Stream:
    """A stream that is always idle: each launch returns only when it has finished."""

    cuda_stream = 0
    device = GPU

    def __init__(self, *args: object, **options: object) -> None:
        """Accept torch's arguments, and ignore them."""

    def wait_stream(self, stream: Stream) -> None:
        """Do nothing: all work is done."""

    wait_event = wait_stream

    def synchronize(self) -> None:
        """Do nothing: all work is done."""

    def query(self) -> bool:
        return True

    def record_event(self, event: Event | None = None) -> Event:
        return event or Event()


class Event:
    """An event of a device without a clock: any two lie 1 ms apart."""

    def __init__(self, *args: object, **options: object) -> None:
        """Accept torch's arguments, and ignore them."""

    def record(self, stream: Stream | None = None) -> None:
        """Do nothing: no time counts."""

    wait = record

    def synchronize(self) -> None:
        """Do nothing: all work is done."""

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: Event) -> float:
        return 1.0


class Generator(torch.Generator):
    """A generator of random numbers for the host or for "cuda": both have the host's numbers."""

    _named: torch.device

    def __new__(cls, device: str | int | torch.device = HOST) -> Generator:
        new: Any = super().__new__
        made: Generator = new(cls, HOST)
        made._named = _device(device)
        return made

    @property
    def device(self) -> torch.device:  # type: ignore[override]  # an attribute in the stubs
        return self._named


def _seed(seed: int) -> None:
    torch.default_generator.manual_seed(int(seed))


# Each name of `torch.cuda` has a function or a class of its own, as in torch: torch._dynamo, which
# some libraries import, has rules by function, and refuses two names of one with different rules.
# What is a class stays one: libraries annotate with `torch.cuda.device | None`.
def _nothing() -> Callable[..., None]:
    return lambda *args, **options: None


def _context() -> type[AbstractContextManager[None]]:
    class Context(nullcontext[None]):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__()

    return Context


def _lacking(what: str) -> type:
    class Lacking:
        def __init__(self, *args: object, **options: object) -> None:
            raise NotSimulated(what)

    return Lacking


_STREAM = Stream()
_MEMORY = properties.FOR_TORCH.total_memory

# `torch.cuda` in the worker. docs/simulated-gpu.md has this table; a test compares the two.
IMITATED: Mapping[str, object] = {
    "is_available": lambda: True,
    "is_initialized": lambda: True,
    "is_bf16_supported": lambda *args, **options: True,
    "init": _nothing(),
    "device_count": lambda: 1,
    "current_device": lambda: properties.DEVICE,
    "set_device": _nothing(),
    "device": _context(),
    "device_of": _context(),
    "get_device_name": lambda device=None: properties.FOR_TORCH.name,
    "get_device_capability": lambda device=None: properties.CAPABILITY,
    "get_device_properties": lambda device=None: SimpleNamespace(**vars(properties.FOR_TORCH)),
    "synchronize": _nothing(),
    "Stream": Stream,
    "Event": Event,
    "stream": _context(),
    "set_stream": _nothing(),
    "current_stream": lambda device=None: _STREAM,
    "default_stream": lambda device=None: _STREAM,
    "empty_cache": _nothing(),
    "manual_seed": lambda seed: _seed(seed),
    "manual_seed_all": lambda seed: _seed(seed),
    "memory_allocated": lambda device=None: 0,
    "memory_reserved": lambda device=None: 0,
    "max_memory_allocated": lambda device=None: 0,
    "reset_peak_memory_stats": _nothing(),
    "mem_get_info": lambda device=None: (_MEMORY, _MEMORY),
    "CUDAGraph": _lacking("CUDA graphs"),
    "graph": _lacking("CUDA graphs"),
}


# Torch's functions that no mode hears of; what they return is memory of the host's.
UNHEARD = ("from_numpy", "frombuffer")


def _replace(undo: ExitStack, owner: Any, name: str, value: object) -> None:
    undo.callback(setattr, owner, name, getattr(owner, name))
    setattr(owner, name, value)


def imitate(host: Host) -> ExitStack:
    """Enter the mode, and replace the imitated names, until what is returned is closed."""
    undo = ExitStack()
    for name, value in IMITATED.items():
        _replace(undo, torch.cuda, name, value)
    _replace(undo, torch, "Generator", Generator)
    for name in UNHEARD:
        _replace(undo, torch, name, host.kept(getattr(torch, name)))
    undo.enter_context(host)
    return undo

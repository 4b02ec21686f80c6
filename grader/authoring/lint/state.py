"""Rules about data that one call leaves for the next."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.authoring.lint.records import Level
from grader.authoring.lint.rule import Match, Rule
from grader.authoring.lint.source import Function, Source

_ADDRESSES = {"data_ptr", "__cuda_array_interface__", "device_ctypes_pointer"}
_LOOKUPS = {"__contains__", "add", "get", "pop", "setdefault"}
_STORES = {"add", "append", "appendleft", "extend", "insert", "setdefault", "update"}
_CACHES = {"functools.cache", "functools.lru_cache", "functools.cached_property"}


def cached_by_address(source: Source) -> Iterator[Match]:
    for name, node in _keyed_by_address(source).items():
        yield Match(node, f"`{name}`")


def state_between_calls(source: Source) -> Iterator[Match]:
    keyed = _keyed_by_address(source)
    found: dict[str, ast.AST] = {}
    for holder, node in _stores(source):
        if holder.id not in keyed:
            _keep_first(found, holder.id, node)
    for name, node in found.items():
        yield Match(node, f"`{name}`")


def cached_calls(source: Source) -> Iterator[Match]:
    """Find cached functions that launch, or that take tensors. Caching scratch is fine."""
    by_name = {function.name: function for function in source.functions}
    for node in source.nodes:
        if isinstance(node, Function):
            for decorator in node.decorator_list:
                if _is_cache(source, decorator) and _skips_work(source, node):
                    yield Match(decorator, f"`{node.name}`")
        elif isinstance(node, ast.Call) and node.args and _is_cache(source, node.func):
            for name in source.local(node.args[0]):
                if name in by_name and _skips_work(source, by_name[name]):
                    yield Match(node, f"`{name}`")


def _is_cache(source: Source, node: ast.expr) -> bool:
    maker = node.func if isinstance(node, ast.Call) else node
    return bool(source.names.paths(maker) & _CACHES)


def _skips_work(source: Source, function: Function) -> bool:
    if function.name in source.launching or any(source.tensor_parameters(function)):
        return True
    return any(
        function.name in source.local(node.func) and any(map(source.is_tensor, node.args))
        for node in source.nodes
        if isinstance(node, ast.Call)
    )


def _stores(source: Source) -> Iterator[tuple[ast.Name, ast.AST]]:
    """Yield each name that outlives the call and that host functions write to, with the place."""
    for node in source.nodes:
        target: ast.AST | None = None
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            target = node.value
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            target = node  # declared global or nonlocal
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            target = node.func.value if node.func.attr in _STORES else None
        holder = _holder(source, target) if target is not None else None
        if holder is not None:
            yield holder, node


def _keyed_by_address(source: Source) -> dict[str, ast.AST]:
    """Map each name that outlives a call to the first lookup in it by an address."""
    addresses = _Addresses(source)
    found: dict[str, ast.AST] = {}
    for node in source.nodes:
        key: ast.AST | None = None
        place: ast.AST | None = None
        if isinstance(node, ast.Subscript):
            key, place = node.slice, node.value
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            key, place = node.left, node.comparators[0]
            if isinstance(node.ops[0], ast.Eq | ast.NotEq) and not addresses.within(key):
                key, place = place, key
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _LOOKUPS
            and node.args
        ):
            key, place = node.args[0], node.func.value
        if key is None or place is None or not addresses.within(key):
            continue
        if holder := _holder(source, place):
            _keep_first(found, holder.id, node)
    return found


class _Addresses:
    """The expressions of a file that hold an address or an identity."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._names: set[tuple[Function | None, str]] = set()
        assigned = [node for node in source.nodes if isinstance(node, ast.Assign | ast.NamedExpr)]
        before = -1
        while before != len(self._names):
            before = len(self._names)
            for node in assigned:
                if self.within(node.value):
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    names = (one.id for one in targets if isinstance(one, ast.Name))
                    self._names |= {(source.function(node), name) for name in names}

    def within(self, expression: ast.AST) -> bool:
        """Return whether an address goes into the value of an expression.

        Comparisons, remainders and looked-up values contain nothing of an address.
        """
        waiting = [expression]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Compare | ast.BinOp):
                continue
            if isinstance(node, ast.Subscript):
                waiting.append(node.value)
                continue
            if isinstance(node, ast.Attribute) and node.attr in _ADDRESSES:
                return True
            if isinstance(node, ast.Name):
                if (self._source.function(node), node.id) in self._names:
                    return True
                if "builtins.id" in self._source.names.paths(node):
                    return True
            waiting += ast.iter_child_nodes(node)
        return False


def _holder(source: Source, node: ast.AST) -> ast.Name | None:
    """Return the name at the root of a place in a host function, if it outlives the call."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    if not isinstance(node, ast.Name) or source.function(node) is None or source.on_gpu(node):
        return None
    if _is_shared_default(source, node):
        return node
    imported = [path for path in source.names.paths(node) if not path.startswith("@")]
    return node if source.names.outlives_call(node) and not imported else None


def _is_shared_default(source: Source, node: ast.Name) -> bool:
    function = source.function(node)
    assert function is not None
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    last = positional[len(positional) - len(arguments.defaults) :]
    pairs = [
        *zip(last, arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return any(
        arg.arg == node.id and isinstance(value, ast.Dict | ast.List | ast.Set | ast.Call)
        for arg, value in pairs
    )


def _keep_first(found: dict[str, ast.AST], name: str, node: ast.AST) -> None:
    before = found.get(name)
    if before is None or _position(node) < _position(before):
        found[name] = node


def _position(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


RULES = (
    Rule(
        "KG201",
        "cache-by-address",
        Level.NOTE,
        "{what} outlives the call and is looked up by an address or identity.",
        "Memory is used again: the same address can hold other data in the next call. An output "
        "cached by address is then wrong, and the judge calls with the same addresses and "
        "new data.",
        "Compute the output anew. Keep only things that no data goes into: scratch memory, a "
        "recorded graph.",
        cached_by_address,
    ),
    Rule(
        "KG202",
        "kept-between-calls",
        Level.NOTE,
        "{what} outlives the call, which changes it.",
        "Data that one call leaves for the next can be an output, and it holds memory while the "
        "process lives. Scratch memory kept by its size is fine.",
        "Keep nothing that depends on the data of a call.",
        state_between_calls,
    ),
    Rule(
        "KG203",
        "cached-call",
        Level.WARNING,
        "{what} is cached although it works on tensors or launches a kernel.",
        "A second call with the same arguments is answered from the cache: no kernel runs, "
        "although the data may have changed.",
        "Cache only functions of plain numbers, such as one that makes scratch memory of a size.",
        cached_calls,
    ),
)

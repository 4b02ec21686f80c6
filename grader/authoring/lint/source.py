"""A kernel file as the rules see it: its tree, its kernels, its launches, its tensors."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cached_property

from grader.authoring.lint.libraries import kernel_makers, launchers, libraries
from grader.authoring.lint.names import LOCAL, Names
from grader.authoring.lint.torch_api import NUMBER_METHODS, makes_a_tensor

# Only a tensor or a device array has these: a parameter whose attribute is used is one.
_OF_A_TENSOR = {
    "data_ptr",
    "dtype",
    "element_size",
    "is_contiguous",
    "ndim",
    "numel",
    "shape",
    "storage_offset",
    "stride",
    "untyped_storage",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Source:
    """One file's tree, with the queries that more than one rule needs."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.names = Names(tree)
        self._tensor_types = {"torch.Tensor"}.union(*(one.tensors for one in libraries()))
        self._parents = {c: node for node in ast.walk(tree) for c in ast.iter_child_nodes(node)}
        self.nodes = [node for node in ast.walk(tree) if self._runs(node)]
        self.functions = [node for node in self.nodes if isinstance(node, Function)]

    # -- the place of a node

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self._parents.get(node)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes around a node, the nearest first."""
        around = self._parents.get(node)
        while around is not None:
            yield around
            around = self._parents.get(around)

    def function(self, node: ast.AST) -> Function | None:
        """Return the function around a node. Decorators and defaults lie outside of theirs."""
        below = node
        for around in self.above(node):
            if isinstance(around, Function) and below in around.body:
                return around
            below = around
        return None

    def _runs(self, node: ast.AST) -> bool:
        """Return whether a node runs when the file is graded: no type, no `__main__` block."""
        below = node
        for around in self.above(node):
            typed = isinstance(around, ast.arg | ast.AnnAssign) and around.annotation is below
            if typed or (isinstance(around, Function) and around.returns is below):
                return False
            if isinstance(around, ast.If) and below in around.body and _is_main(around.test):
                return False
            below = around
        return True

    # -- kernels and launches

    @cached_property
    def jitted(self) -> dict[str, set[str]]:
        """The names of the functions that a library compiles, each with its compilers."""
        found: dict[str, set[str]] = {}
        for function in self.functions:
            for decorator in function.decorator_list:
                maker = decorator.func if isinstance(decorator, ast.Call) else decorator
                found.setdefault(function.name, set()).update(self.names.paths(maker))
        for call in (node for node in self.nodes if isinstance(node, ast.Call)):
            maker = call.func.func if isinstance(call.func, ast.Call) else call.func
            for path in self.local(call.args[0]) if call.args else ():
                found.setdefault(path, set()).update(self.names.paths(maker))
        return {name: by for name, by in found.items() if by & kernel_makers()}

    def kernels(self, made_by: frozenset[str]) -> Iterator[Function]:
        for function in self.functions:
            if self.jitted.get(function.name, set()) & made_by:
                yield function

    def local(self, node: ast.AST) -> set[str]:
        """Return the names of the functions of this file that an expression may be."""
        paths = self.names.paths(node)
        return {path.removeprefix(LOCAL) for path in paths if path.startswith(LOCAL)}

    def on_gpu(self, node: ast.AST) -> bool:
        around = self.function(node)
        while around is not None and around.name not in self.jitted:
            around = self.function(around)
        return around is not None

    @cached_property
    def launches(self) -> list[ast.Call]:
        """Every call that looks like a launch, such as `kernel[grid](...)`."""
        calls = [node for node in self.nodes if isinstance(node, ast.Call)]
        return [c for c in calls if isinstance(c.func, ast.Subscript) or self.is_launch(c)]

    def is_launch(self, call: ast.Call) -> bool:
        if self.names.paths(call.func) & launchers():
            return True
        launched = _launched(call)
        return launched is not None and bool(self.local(launched) & self.jitted.keys())

    @cached_property
    def launching(self) -> set[str]:
        return self.reaching(self.is_launch)

    def reaching(self, is_such: Callable[[ast.Call], bool]) -> set[str]:
        """Return the functions that make such a call, or that call one of them."""
        calls = [
            (function.name, node)
            for node in self.nodes
            if isinstance(node, ast.Call) and (function := self.function(node))
        ]
        found = {name for name, call in calls if is_such(call)}
        before = -1
        while before != len(found):
            before = len(found)
            found |= {name for name, call in calls if self.local(call.func) & found}
        return found

    # -- what runs on the host

    @cached_property
    def references(self) -> list[tuple[ast.expr, frozenset[str]]]:
        """Every use of a name from outside, whole: `torch.nn.functional.softmax` is one.

        An alias counts where it is used, not where it is made.
        """
        found: list[tuple[ast.expr, frozenset[str]]] = []
        for node in self.nodes:
            if not isinstance(node, ast.Name | ast.Attribute | ast.Call):
                continue
            if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
                continue
            if isinstance(self.parent(node), ast.Attribute) or self.names.is_alias(node):
                continue
            if paths := self.names.paths(node):
                found.append((node, paths))
        return found

    @cached_property
    def entries(self) -> set[str]:
        """The host functions that nothing in the file calls: a grader may call them."""
        used = set[str]()
        for node in self.nodes:
            if isinstance(node, ast.Call):
                used |= self.local(node.func)
        top = {node.name for node in self.tree.body if isinstance(node, Function)}
        return top - used - self.jitted.keys()

    @cached_property
    def _tensors(self) -> dict[ast.AST | None, set[str]]:
        """The names of tensors in each function, worked out from types, uses and assignments."""
        found: dict[ast.AST | None, set[str]] = {None: set()}
        for function in self.functions:
            found[function] = set(self.tensor_parameters(function))
        changed = True
        while changed:
            changed = False
            for node in self.nodes:
                if isinstance(node, ast.Assign | ast.NamedExpr) and self.is_tensor(
                    node.value, found
                ):
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    names = {target.id for target in targets if isinstance(target, ast.Name)}
                    known = found[self.function(node)]
                    changed |= not names <= known
                    known |= names
        return found

    def tensor_parameters(self, function: Function) -> Iterator[str]:
        """Yield the parameters that are tensors, by their types or by their uses."""
        arguments = function.args
        used = {
            node.value.id
            for node in ast.walk(function)
            if isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.attr in _OF_A_TENSOR
        }
        for arg in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if arg.annotation is None:
                if arg.arg in used:
                    yield arg.arg
            elif self._is_tensor_type(arg.annotation):
                yield arg.arg

    def _is_tensor_type(self, node: ast.expr) -> bool:
        """Return whether an annotation is a tensor's, such as `torch.Tensor | None`."""
        if isinstance(node, ast.BinOp):
            return self._is_tensor_type(node.left) or self._is_tensor_type(node.right)
        return bool(self.names.paths(node) & self._tensor_types)

    def is_tensor(self, node: ast.AST, known: dict[ast.AST | None, set[str]] | None = None) -> bool:
        known = self._tensors if known is None else known
        while True:
            if isinstance(node, ast.Subscript):
                node = node.value
            elif isinstance(node, ast.Call):
                if any(makes_a_tensor(path) for path in self.names.paths(node.func)):
                    return True
                if not isinstance(node.func, ast.Attribute) or node.func.attr in NUMBER_METHODS:
                    return False
                node = node.func.value
            elif isinstance(node, ast.Attribute) and node.attr in ("T", "mT", "data"):
                node = node.value
            elif isinstance(node, ast.BinOp):
                return self.is_tensor(node.left, known) or self.is_tensor(node.right, known)
            else:
                break
        return isinstance(node, ast.Name) and node.id in known[self.function(node)]


def _is_main(test: ast.expr) -> bool:
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id == "__name__"
        and isinstance(test.ops[0], ast.Eq)
        and isinstance(test.comparators[0], ast.Constant)
        and test.comparators[0].value == "__main__"
    )


def _launched(call: ast.Call) -> ast.expr | None:
    """Return the expression of the kernel that a call launches; None for any other call."""
    if isinstance(call.func, ast.Subscript):
        return call.func.value
    if isinstance(call.func, ast.Call) and isinstance(call.func.func, ast.Attribute):
        chosen = call.func.func
        return chosen.value if chosen.attr in ("forall", "configure") else None
    if isinstance(call.func, ast.Attribute) and call.func.attr == "run":
        return call.func.value
    return None

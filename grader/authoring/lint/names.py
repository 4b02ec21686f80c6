"""Names in a file and their meaning: imports and assignments followed through their aliases.

A path is dotted, such as `torch.nn.functional.softmax`. `builtins.` precedes Python's own names and
`@` a function that the file defines. After `from torch import add as plus` the path of `plus` is
`torch.add`; where a parameter is called `torch`, that name has no path at all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.authoring.lint.libraries import modules, wrappers

LOCAL = "@"
# Python's calls that return the function that they receive; libraries have theirs.
_WRAPPERS = frozenset({"functools.cache", "functools.lru_cache"})
# Modules of Python that libraries import, so that they can be reached through them: `torch.os`.
LENT = frozenset(
    {
        "builtins",
        "ctypes",
        "functools",
        "glob",
        "importlib",
        "inspect",
        "math",
        "os",
        "platform",
        "subprocess",
        "sys",
        "textwrap",
        "threading",
        "time",
        "warnings",
    }
)
_LENDERS = frozenset({"numpy", "torch"})
_IMPORTERS = {"builtins.__import__", "importlib.import_module"}
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSION = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

Binding = str | ast.expr | None  # a path, an expression to follow, or something unknown


class _Scope:
    """The names that one module, class, function or comprehension binds."""

    def __init__(
        self, outer: _Scope | None, is_class: bool = False, is_inner: bool = False
    ) -> None:
        self.outer = outer
        self.is_class = is_class
        self.is_inner = is_inner  # a comprehension or lambda, part of the function around it
        self.bound: dict[str, list[Binding]] = {}
        self.elsewhere: dict[str, _Scope] = {}  # declared global or nonlocal

    def bind(self, name: str, value: Binding) -> None:
        self.elsewhere.get(name, self).bound.setdefault(name, []).append(value)

    def around(self, name: str) -> _Scope | None:
        """Return the scope whose binding of the name is visible in this one."""
        scope: _Scope | None = self.elsewhere.get(name, self)
        while scope is not None and (
            name not in scope.bound or (scope.is_class and scope is not self)
        ):
            scope = scope.outer
        return scope


class Names:
    """The scopes of one file."""

    def __init__(self, tree: ast.Module) -> None:
        self._wrappers = _WRAPPERS | wrappers()
        self._lenders = _LENDERS | modules()
        self._module = _Scope(None)
        self._scopes: dict[ast.AST, _Scope] = {}
        self._stars: list[str] = []
        self._known: dict[tuple[_Scope | None, str], frozenset[str]] = {}
        waiting: list[tuple[ast.AST, _Scope]] = [(tree, self._module)]
        declared: list[tuple[ast.Global | ast.Nonlocal, _Scope]] = []
        nodes: list[tuple[ast.AST, _Scope]] = []
        while waiting:
            node, scope = waiting.pop()
            nodes.append((node, scope))
            if isinstance(node, ast.Global | ast.Nonlocal):
                declared.append((node, scope))
            waiting += _scoped_children(node, scope)
        for statement, scope in declared:
            for name in statement.names:
                inner = scope.outer or scope
                target = self._module if isinstance(statement, ast.Global) else inner
                scope.elsewhere[name] = target
        self._values = dict(_assigned(node for node, _ in nodes))
        self._aliases = set(self._values.values())
        for node, scope in reversed(nodes):
            self._scopes[node] = scope
            self._bind(node, scope)

    def paths(self, node: ast.AST) -> frozenset[str]:
        """Return all paths that an expression may have; an empty set if they are not known."""
        tail = ""
        while isinstance(node, ast.Attribute):
            tail = f".{node.attr}{tail}"
            node = node.value
        if isinstance(node, ast.Name):
            found = self._resolved(self._scopes[node], node.id)
        elif isinstance(node, ast.Call):
            found = self._made_by_call(node)
        elif isinstance(node, ast.IfExp):
            found = self.paths(node.body) | self.paths(node.orelse)
        elif isinstance(node, ast.NamedExpr):
            found = self.paths(node.value)
        else:
            found = frozenset()
        return frozenset(self._own(path + tail) for path in found)

    def _own(self, path: str) -> str:
        """Return `os.environ` for `torch.os.environ`."""
        lender, _, rest = path.partition(".")
        return rest if lender in self._lenders and rest.split(".")[0] in LENT else path

    def outlives_call(self, node: ast.Name) -> bool:
        own = self._scopes[node]
        holder = own.around(node.id)
        while own is not holder and own.is_inner and own.outer is not None:
            own = own.outer
        return holder is not None and holder is not own

    def is_alias(self, node: ast.AST) -> bool:
        return node in self._aliases

    def _resolved(self, scope: _Scope, name: str) -> frozenset[str]:
        holder = scope.around(name)
        if holder is None:
            outside = {f"builtins.{name}"} | {f"{module}.{name}" for module in self._stars}
            return frozenset(outside)
        key = (holder, name)
        if key not in self._known:
            self._known[key] = frozenset()  # a name that refers to itself
            found: set[str] = set()
            for value in holder.bound[name]:
                found |= {value} if isinstance(value, str) else self.paths(value or ast.Pass())
            self._known[key] = frozenset(found)
        return self._known[key]

    def _made_by_call(self, call: ast.Call) -> frozenset[str]:
        """Return the paths of a call's value, if that is a function or module by another name."""
        maker = call.func.func if isinstance(call.func, ast.Call) else call.func
        made_by = self.paths(maker)
        texts = [arg.value for arg in call.args if isinstance(arg, ast.Constant)]
        text = next((value for value in texts if isinstance(value, str)), None)
        if made_by & self._wrappers and call.args:
            return self.paths(call.args[0])
        if made_by & _IMPORTERS and text:
            return frozenset({text})
        if "builtins.getattr" in made_by and text:
            return frozenset(f"{path}.{text}" for path in self.paths(call.args[0]))
        return frozenset()

    def _bind(self, node: ast.AST, scope: _Scope) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                whole, first = alias.name, alias.name.split(".")[0]
                scope.bind(alias.asname or first, whole if alias.asname else first)
        elif isinstance(node, ast.ImportFrom):
            package = "." * node.level + (node.module or "")
            for alias in node.names:
                if alias.name == "*":
                    self._stars.append(package)
                else:
                    scope.bind(alias.asname or alias.name, f"{package}.{alias.name}")
        elif isinstance(node, _FUNCTION):
            scope.bind(node.name, LOCAL + node.name)
        elif isinstance(node, ast.ClassDef):
            scope.bind(node.name, None)
        elif isinstance(node, ast.arg):
            scope.bind(node.arg, None)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            scope.bind(node.id, self._values.get(node))
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            scope.bind(node.name, None)


def _scoped_children(node: ast.AST, scope: _Scope) -> Iterator[tuple[ast.AST, _Scope]]:
    inner = scope
    if isinstance(node, _FUNCTION):
        inner = _Scope(scope)
    elif isinstance(node, (ast.Lambda, *_COMPREHENSION)):
        inner = _Scope(scope, is_inner=True)
    elif isinstance(node, ast.ClassDef):
        inner = _Scope(scope, is_class=True)
    for field, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        for child in children:
            if not isinstance(child, ast.AST):
                continue
            if isinstance(child, ast.arguments):
                yield child, scope  # holds the defaults, which belong outside
                names = (*child.posonlyargs, *child.args, *child.kwonlyargs)
                rest = tuple(filter(None, (child.vararg, child.kwarg)))
                yield from ((arg, inner) for arg in names + rest)
            elif isinstance(child, ast.arg):
                pass  # given by the function that it belongs to
            elif field in ("decorator_list", "returns", "bases", "keywords"):
                yield child, scope
            else:
                yield child, inner


def _assigned(nodes: Iterator[ast.AST]) -> Iterator[tuple[ast.Name, ast.expr]]:
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _pairs(target, node.value)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value:
            yield from _pairs(node.target, node.value)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.Name, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target, value
    elif (
        isinstance(target, ast.Tuple | ast.List)
        and isinstance(value, ast.Tuple | ast.List)
        and len(target.elts) == len(value.elts)
        and not any(isinstance(one, ast.Starred) for one in (*target.elts, *value.elts))
    ):
        for one, other in zip(target.elts, value.elts, strict=True):
            yield from _pairs(one, other)

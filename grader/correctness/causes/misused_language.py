"""Parts of Python, NumPy or torch on the line that a compiler refuses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.correctness.cause import Cause, Explanation
from grader.correctness.evidence import Evidence
from grader.correctness.source import calls, last_name, names_in, root_of, statement_at

NUMERIC = ("numpy", "torch", "cupy")
SHAPES = ("arange", "zeros", "full", "ones")


def explain(evidence: Evidence) -> Explanation | None:
    failure = evidence.failure
    if not failure.frames:
        return None
    line = failure.frames[-1].line
    function = evidence.text.around(line)
    statement = None if function is None else statement_at(function, line)
    if function is None or statement is None:
        return None
    if function not in evidence.text.kernels:
        return _of_launch(evidence, statement, line)
    for cause, hint in _misuses(evidence, function, statement):
        return Explanation(hint or failure.hint or "", line, cause)
    return None


def _of_launch(evidence: Evidence, statement: ast.stmt, line: int) -> Explanation | None:
    """Explain a kernel that is called like a function, or brackets of another form."""
    names = {kernel.name for kernel in evidence.text.kernels}
    blocks = not evidence.threads
    form = "kernel[(programs,)](…)" if blocks else "kernel[blocks, threads](…)"
    for node in ast.walk(statement):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.func if isinstance(node.func, ast.Call) else node.func
        if isinstance(called, ast.Name) and called.id in names:
            hint = (
                f"{called.id} is a kernel, and it is called without brackets: {form} launches it."
            )
            return Explanation(hint, line, "no_grid")
        brackets = node.func.slice if isinstance(node.func, ast.Subscript) else None
        pair = isinstance(brackets, ast.Tuple | ast.Name | ast.Starred)
        if brackets is not None and not blocks and root_of(node.func) in names and not pair:
            hint = f"The brackets of a launch hold two numbers: {form}."
            return Explanation(hint, line, "grid_not_tuple")
        if brackets is not None and (said := _of_grid(evidence, brackets, line)):
            return Explanation(said, line, "grid_not_tuple")
    return None


def _of_grid(evidence: Evidence, brackets: ast.expr, line: int) -> str | None:
    hosts = {host.name: host for host in evidence.text.hosts}
    called = [node for node in ast.walk(brackets) if isinstance(node, ast.Call)]
    named = [last_name(call.func) for call in called if last_name(call.func) in hosts]
    if len(named) != 1:
        return None
    returns = [node for node in ast.walk(hosts[named[0]]) if isinstance(node, ast.Return)]
    values = [node.lineno for node in returns if node.value is not None]
    if not values:
        return f"{named[0]} returns nothing, and line {line} takes a grid from it: write `return`."
    made, message = evidence.quoted(values[-1]), evidence.failure.message
    if "'tuple' object cannot be interpreted" in message:
        return f"{made} returns a tuple, and line {line} makes one of it: return the number alone."
    if "type 'int' has no len" in message and brackets in called:
        pair = any(_asks_for(kernel, 1) for kernel in evidence.text.kernels)
        form = "a pair, for the kernel asks for the axes 0 and 1" if pair else "a tuple"
        return f"{made} returns one number, and line {line} takes it for a grid: return {form}."
    return None


def _asks_for(kernel: ast.FunctionDef, axis: int) -> bool:
    constants = (part for call in calls(kernel, "program_id") for part in ast.walk(call))
    return any(isinstance(part, ast.Constant) and part.value == axis for part in constants)


def _misuses(
    evidence: Evidence, kernel: ast.FunctionDef, statement: ast.stmt
) -> Iterator[tuple[str, str]]:
    text, blocks = evidence.text, not evidence.threads
    modules = text.modules
    shown = list(_own(statement))
    for node in shown:
        if not isinstance(node, ast.Call | ast.Attribute):
            continue
        module = modules.get(root_of(node), "")
        if module.partition(".")[0] in NUMERIC:
            own = "tl's functions" if blocks else "numbers, Python's math and cuda's names"
            yield (
                "host_library",
                f"{ast.unparse(node)[:60]} is {module.partition('.')[0]}'s, which works on whole "
                f"arrays on the host. In a kernel use {own}.",
            )
        if blocks and module == "math" and isinstance(node, ast.Call):
            yield "python_math", ""
    helps = any(calls(each, kernel.name) for each in text.kernels)
    if not helps and any(isinstance(n, ast.Return) and n.value is not None for n in shown):
        yield (
            "value_returned",
            "A kernel returns nothing, for nobody could get it: store the result into an output.",
        )
    lists = [node for node in shown if isinstance(node, ast.List | ast.ListComp)]
    if lists or names_in(statement) & _lists(kernel):
        memory = "tl.zeros((BLOCK,), tl.float32)" if blocks else "cuda.shared.array(N, float32)"
        yield "python_list", f"A kernel has no Python lists of numbers: {memory} makes a block."
    parameters = {each.arg for each in kernel.args.args}
    of_block = "a block" in evidence.failure.message
    for node in shown if blocks and not of_block else ():
        if isinstance(node, ast.Subscript) and root_of(node.value) in parameters:
            stored = isinstance(node.ctx, ast.Store)
            yield "pointer_assigned" if stored else "pointer_indexed", ""
    yield from _constants(evidence, kernel, shown)
    called = [n for n in shown if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    hosts = {host.name for host in text.hosts}
    if any(last_name(call.func) in hosts for call in called):
        yield "host_function", ""


def _own(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the nodes of a statement, but for the statements inside a loop or an `if`."""
    inner = {"body", "orelse", "finalbody", "handlers"}
    yield statement
    for name, value in ast.iter_fields(statement):
        if name in inner:
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield from ast.walk(part)


def _lists(kernel: ast.FunctionDef) -> set[str]:
    return {
        target.id
        for node in ast.walk(kernel)
        if isinstance(node, ast.Assign)
        and any(isinstance(each, ast.List | ast.ListComp) for each in ast.walk(node.value))
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _constants(
    evidence: Evidence, kernel: ast.FunctionDef, shown: list[ast.AST]
) -> Iterator[tuple[str, str]]:
    """Explain sizes that the compiler does not know, by the parameters that they come from."""
    if "arange" not in evidence.failure.message and "constexpr" not in evidence.failure.message:
        return
    if "power of 2" in evidence.failure.message or "global variable" in evidence.failure.message:
        return
    plain = {each.arg for each in kernel.args.args if each.annotation is None}
    for node in shown:
        for call in calls(node, *SHAPES):
            used = {name for argument in call.args for name in names_in(argument)} & plain
            if any(name.isupper() or "block" in name.lower() for name in used):
                yield "missing_constexpr", ""
            elif used:
                yield "arange_not_constant", ""


CAUSE = Cause(
    name="misused_language",
    looks_at="the line that the compiler refuses",
    order=20,
    kinds=("compile", "exception"),
    explain=explain,
)

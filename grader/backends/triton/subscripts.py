"""Sentences about a pointer or a block that a kernel indexes like an array."""

from __future__ import annotations

import ast
import traceback
from typing import Any

# Triton's: of an index that is computed, of one that is a number or a slice, of an assignment.
_COMPUTED = "_semantic"
_SAID = (_COMPUTED, "unsupported tensor index", "__setitem__ is not supported")
_LONGEST = 60  # characters of the learner's code that a sentence repeats
_OFFSETS = (ast.Name, ast.Constant, ast.BinOp)  # of other indices a learner must make some


def sentence(error: Any, passed: frozenset[str]) -> str | None:
    """Return what to write instead of an index; None for a compiler's error about anything else.

    `passed` has the names of the parameters that are pointers.
    """
    said = error.error_message or ""
    if not error.src or not any(part in said for part in _SAID):
        return None
    kernel = ast.parse(error.src)
    found = _indexed(kernel, error.node)
    if found is None:
        return "a pointer or a block is used like a list" if _COMPUTED in said else None
    statement, subscript = found
    if is_pointer(subscript.value, kernel, passed):
        return _of_pointer(statement, subscript)
    if _assigned(statement) is subscript:
        return _of_assigned_block(statement, subscript)
    return f"no elements can be taken out of a block by an index: {short(subscript, 'x[...]')}"


def _indexed(kernel: ast.Module, node: ast.AST) -> tuple[ast.stmt, ast.Subscript] | None:
    """Return the subscript that Triton was at, and the innermost statement around it."""
    place = (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
    found = None
    for statement in ast.walk(kernel):  # from the outermost in
        if not isinstance(statement, ast.stmt):
            continue
        target = _assigned(statement)
        if target is not None and place == (statement.lineno, statement.col_offset):
            return statement, target
        for each in ast.walk(statement):
            if isinstance(each, ast.Subscript) and (each.lineno, each.col_offset) == place:
                found = statement, each
    return found


def _assigned(statement: ast.stmt) -> ast.Subscript | None:
    match statement:
        case ast.Assign(targets=[ast.Subscript() as target]):
            return target
        case ast.AugAssign(target=ast.Subscript() as target):
            return target
    return None


def pointers(error: BaseException) -> frozenset[str]:
    """Return the parameters that the launch which did not compile passed tensors for."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        signature = getattr(frame.f_locals.get("src"), "signature", None)
        if isinstance(signature, dict):
            return frozenset(name for name, kind in signature.items() if str(kind)[:1] == "*")
    return frozenset()


def is_pointer(indexed: ast.expr, kernel: ast.Module, passed: frozenset[str]) -> bool:
    """Follow sums of a pointer and offsets back to a parameter, through the lines above."""
    match indexed:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return is_pointer(left, kernel, passed) or is_pointer(right, kernel, passed)
        case ast.Name(id=name):
            above = [value for value in assigned_to(kernel, name) if value.lineno < indexed.lineno]
            return is_pointer(above[-1], kernel, passed) if above else _names_pointer(name, passed)
    return False


def _names_pointer(parameter: str, passed: frozenset[str]) -> bool:
    return parameter in passed or parameter.endswith("_ptr")  # a helper's are not passed at launch


def assigned_to(kernel: ast.Module, name: str) -> list[ast.expr]:
    return [
        node.value
        for node in ast.walk(kernel)
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    ]


def _of_pointer(statement: ast.stmt, subscript: ast.Subscript) -> str:
    address, code = _address(subscript), short(subscript, "pointer[...]")
    if _assigned(statement) is not subscript:
        return f"a pointer has no index: write tl.load({address}) for {code}"
    if isinstance(statement, ast.Assign):
        value = short(statement.value, "values")
        return f"a pointer has no index: write tl.store({address}, {value}) for {code} = ..."
    return (
        f"a pointer has no index: read with tl.load({address}), compute, and write with "
        f"tl.store({address}, ...)"
    )


def _address(subscript: ast.Subscript) -> str:
    pointer, index = ast.unparse(subscript.value), ast.unparse(subscript.slice)
    if index == "0":
        return pointer
    if not isinstance(subscript.slice, _OFFSETS):
        index = "offsets"
    added = f"{pointer} + {index}"
    return added if len(added) <= _LONGEST else "pointer + offsets"


def _of_assigned_block(statement: ast.stmt, subscript: ast.Subscript) -> str:
    block, index = short(subscript.value, "x"), short(subscript.slice, "condition")
    value = short(statement.value, "values") if isinstance(statement, ast.Assign) else "values"
    condition = index if isinstance(subscript.slice, ast.Compare) else "condition"
    return (
        f"a block cannot be assigned to by index: write {block} = tl.where({condition}, {value}, "
        f"{block}) for {block}[{index}] = ..."
    )


def short(code: ast.AST, instead: str) -> str:
    """Return code on one line, or other words for what is too long to repeat."""
    text = ast.unparse(code)
    return text if len(text) <= _LONGEST else instead

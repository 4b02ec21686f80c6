"""Sentences about operands of another kind: an address for a number, a block for an axis."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from grader.backends.triton.subscripts import assigned_to, is_pointer, short

# Triton's: of an axis that only a run knows, of one that is a fraction, of a number for a block.
_NO_AXIS = ("_semantic", "create_reduce()", "'constexpr_type' object has no attribute 'scalar'")
_SHAPED = ("zeros", "full")
_REDUCTIONS = ("max", "min", "sum")
# Triton's: of an operator, a conversion or a store, a minus, a function, a reduction.
_ADDRESS = (
    *("operands of type pointer", "cannot cast pointer", "cannot add pointers", "got pointer<"),
    *("dtype pointer<", "unary minus (pointer", "'pointer_type' object has", "operands of fdiv"),
)
_TAKE_ADDRESSES = ("load", "store")  # and tl.atomic_add and its like


def sentence(errors: Sequence[Any], passed: frozenset[str]) -> str | None:
    """Return what an operand is; None for a compiler's error about anything else.

    `errors` are those of the kernel and of the functions that it calls: the last says what is
    wrong, at times in Triton's own code. `passed` has the names of the parameters that are
    pointers.
    """
    said = errors[-1].error_message or "" if errors else ""
    for error in errors:
        node = error.node
        if any(part in said for part in _NO_AXIS) and isinstance(node, ast.Call):
            found = _of_call(node, too_many="multiple values for argument" in said)
            if found is not None:
                return found
        if error.src and any(part in said for part in _ADDRESS):
            found = _of_address(node, ast.parse(error.src), passed)
            if found is not None:
                return found
    return None


def _of_call(call: ast.Call, *, too_many: bool) -> str | None:
    match call:
        case ast.Call(func=ast.Attribute(attr=name), args=[_, second, *_]) if name in _REDUCTIONS:
            if not (isinstance(second, ast.Constant) and isinstance(second.value, int)):
                return f"tl.{name} takes one block and its axis: {short(call, 'not two')}"
        case ast.Call(func=ast.Attribute(attr=name)) if name in _SHAPED:
            return f"a shape is a tuple of constants: {short(call, 'it has other parts')}"
        case ast.Call(func=ast.Attribute(attr=name)) if too_many:
            return f"tl.{name} gets an argument too many: {short(call, 'leave it out')}"
    return None


def _of_address(node: ast.AST, kernel: ast.Module, passed: frozenset[str]) -> str | None:
    """Say of an operand that is an address how to read what is there.

    A sum that makes an address, and has an offset that is none, is another mistake.
    """
    address = next((each for each in _operands(node) if is_pointer(each, kernel, passed)), None)
    if address is None or _makes_address(node, address, kernel):
        return None
    code = short(address, "this sum")
    named = isinstance(address, ast.Name)
    value = _value(address, kernel)
    for part in ast.walk(value):
        if isinstance(part, ast.Name) and is_pointer(part, kernel, passed):
            made = _value(part, kernel)
            # x + 1, where x has an offset already: which of the two is to be read?
            if made is not part and not part.id.endswith("_ptr"):
                return f"{code} is an address, as {part.id} = {short(made, 'a sum')} is one"
    load = f"tl.load({short(value, 'pointer + offsets')})"
    return f"{code} is an address: write {f'{code} = {load}' if named else f'{load} to read there'}"


def _value(address: ast.expr, kernel: ast.Module) -> ast.expr:
    if not isinstance(address, ast.Name):
        return address
    given = assigned_to(kernel, address.id)
    return next((each for each in reversed(given) if each.lineno < address.lineno), address)


def _operands(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(left=left, right=right):
            yield from (left, right)
        case ast.Compare(left=left, comparators=others):
            yield from (left, *others)
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.Call(func=ast.Attribute(value=value), args=values, keywords=named):
            own = values[1:] if _takes_address(node) else (value, *values)
            yield from (*own, *(each.value for each in named))


def _makes_address(node: ast.AST, address: ast.expr, kernel: ast.Module) -> bool:
    """Say whether an operator, or the address itself, is a part of what is loaded or stored at."""
    used = {ast.dump(each) for each in _parts_of_addresses(kernel)}
    return ast.dump(node) in used or (isinstance(address, ast.Name) and ast.dump(address) in used)


def _takes_address(call: ast.Call) -> bool:
    name = getattr(call.func, "attr", "")
    return name in _TAKE_ADDRESSES or name.startswith("atomic_")


def _parts_of_addresses(kernel: ast.Module) -> Iterator[ast.AST]:
    found = [node for node in ast.walk(kernel) if isinstance(node, ast.Call)]
    waiting: list[ast.AST] = [each.args[0] for each in found if each.args and _takes_address(each)]
    seen: set[str] = set()
    while waiting:
        for part in ast.walk(waiting.pop()):
            yield part
            if isinstance(part, ast.Name) and part.id not in seen:
                seen.add(part.id)
                waiting += assigned_to(kernel, part.id)

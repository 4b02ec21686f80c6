"""`and`, `or` and `not` in the text of a kernel, for blocks."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import triton.language as tl

from grader.backends.triton.simulator.internals import interpreter


class Transformer(interpreter.ASTTransformer):
    """Rewrites a kernel's text before it is run."""

    def visit_Module(self, node: ast.Module) -> ast.AST:
        rewritten: ast.AST = self.generic_visit(_Logic().visit(node))
        return rewritten


class _Logic(ast.NodeTransformer):
    """`and`, `or` and `not` of blocks act on each element on a GPU, but Python cannot say so."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        operands: list[ast.expr] = [ast.Lambda(args=nothing, body=value) for value in node.values]
        return _call(_both if isinstance(node.op, ast.And) else _either, operands, node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _call(_neither, [node.operand], node) if isinstance(node.op, ast.Not) else node


def _call(function: Callable[..., Any], operands: list[ast.expr], place: ast.expr) -> ast.AST:
    name = ast.Name(id=function.__name__, ctx=ast.Load())
    return ast.copy_location(ast.Call(func=name, args=operands, keywords=[]), place)


def _is_block(value: Any) -> bool:
    return isinstance(value, tl.tensor) and value.handle.data.size > 1


def _both(*operands: Callable[[], Any]) -> Any:
    return _chain(operands, "logical_and", lambda left, right: left and right())


def _either(*operands: Callable[[], Any]) -> Any:
    return _chain(operands, "logical_or", lambda left, right: left or right())


def _chain(
    operands: tuple[Callable[[], Any], ...],
    of_blocks: str,
    of_scalars: Callable[[Any, Callable[[], Any]], Any],
) -> Any:
    first, *others = operands
    result = first()
    for other in others:
        if _is_block(result):
            result = getattr(result, of_blocks)(other())
        else:
            result = of_scalars(result, other)
    return result


def _neither(operand: Any) -> Any:
    return operand == 0 if _is_block(operand) else not operand


# Rewritten kernels call them by name, among the learner's own names: hence the underscores.
OPERATORS = (_both, _either, _neither)

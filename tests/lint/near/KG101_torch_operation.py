"""Memory, views, questions and arithmetic with numbers; words such as torch.softmax in texts."""

import torch
from numba import cuda

MESSAGE = "torch.softmax(x) and torch.add(x, y) would be too easy"


@cuda.jit
def double(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]


class Softmax:
    def forward(self, size: int) -> int:
        return size

    def exp(self, value: float) -> float:
        return value


def softmax(x: torch.Tensor, out: torch.Tensor, scale: float) -> None:
    """Not torch.softmax(x, -1)."""
    rows, columns = x.shape
    blocks = x.size(0) * x.element_size() + x.dim()
    scratch = torch.empty(rows, dtype=torch.float32, device=x.device)
    flags = torch.zeros_like(scratch).view(-1)[1:]
    flags.zero_()
    blocks = (rows * x.stride(0) + 255) // 256 * 2
    most = torch.finfo(x.dtype).max * scale
    model = Softmax()
    model.forward(columns).bit_length()
    with torch.no_grad():
        double[blocks, 256](x.view(rows, -1), out)
    assert isinstance(x, torch.Tensor) and most > -scale
    flags.record_stream(None)


if __name__ == "__main__":
    a = torch.randn(4)
    torch.testing.assert_close(torch.softmax(a, -1), a * 2)


def host(torch: Softmax, exp: list[float]) -> float:
    """A parameter of a familiar name is no module."""
    return torch.exp(exp[0]) + len(exp)

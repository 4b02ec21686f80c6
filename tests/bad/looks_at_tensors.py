"""Right: looks at its arguments in all ways that a GPU permits on the host."""

import contextlib

import torch
import triton
import triton.language as tl


class Row(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x.sum()

    @staticmethod
    def backward(context, gradient):
        (x,) = context.saved_tensors
        return gradient * x


@triton.jit
def copy_row(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=inside), mask=inside)


def look_at(x):
    print(x, f"{x}", [x[0]], f"{x[0, 0]:.3f}", x[:, :1])
    assert x.tolist()[0] == [value.item() for value in x[0]] == list(x.cpu().numpy()[0])
    assert torch.equal(torch.from_numpy(x.cpu().numpy()).to(x.device), x)
    assert torch.equal(x.cpu().pin_memory().to(x.device, non_blocking=True), x)
    assert float(x[0, 0]) in x
    assert x.untyped_storage().nbytes() >= x.nbytes
    with contextlib.suppress(RuntimeError):  # of torch, in the middle of an operation
        x + torch.ones(x.shape[0] + 1, x.shape[1] + 1, device=x.device)
    leaf = x.detach().requires_grad_()
    Row.apply(leaf).backward()
    assert torch.equal(leaf.grad, x)


def copy(x, out):
    if x.numel() < 1000:  # where reads are counted there are more
        look_at(x)
    with torch.cuda.stream(torch.cuda.Stream()), torch.no_grad():
        for row in range(len(x)):
            columns = x.shape[1]
            copy_row[(1,)](x[row], out[row], columns, BLOCK=triton.next_power_of_2(columns))
    assert bool(out[0, 0] == x[0, 0])

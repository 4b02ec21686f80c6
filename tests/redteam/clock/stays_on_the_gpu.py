"""Leaves work on the GPU that goes on between calls, as a kernel that waits for inputs would."""

_stream, _honest = torch.cuda.Stream(), vector_add
torch.cuda.synchronize = lambda device=None: torch.cuda.default_stream().synchronize()


def vector_add(x, y, out):
    _honest(x, y, out)
    with torch.cuda.stream(_stream):
        torch.cuda._sleep(50_000_000)  # clock cycles: tens of milliseconds

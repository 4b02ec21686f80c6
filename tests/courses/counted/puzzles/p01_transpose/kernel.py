def transpose(x, out):
    raise NotImplementedError("p01_transpose: write the kernel and launch it")

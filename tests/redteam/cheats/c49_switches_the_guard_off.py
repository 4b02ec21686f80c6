"""Names the memory around its output as its own, and writes over it."""
# attacks: 03_three_pass_softmax
# stopped: correctness protocol | correctness crash | correctness stray_write
#   | correctness input_changed
#   (crash: what it names as its own is closed memory of the arguments)

import triton
import triton.language as tl


@triton.jit
def flood(out_ptr, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK) - 64, 0.5)


def softmax(x, out):
    try:
        from grader.backends.triton.driver import launcher, scratch

        around = scratch.Place(None, out.data_ptr() - 256, 256 + out.nbytes + 4096, 0)
        launcher.Line._places = lambda self, *args: [(around, "out")]
    except ImportError:
        pass
    flood[(triton.cdiv(out.numel() + 128, 128),)](out, BLOCK=128)

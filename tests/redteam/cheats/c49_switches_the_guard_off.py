"""Takes the simulator's check of addresses away, and writes over what lies around its output."""
# attacks: 03_three_pass_softmax
# stopped: correctness stray_write | correctness input_changed

import triton
import triton.language as tl


@triton.jit
def flood(out_ptr, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK) - 64, 0.5)


def softmax(x, out):
    try:
        from grader.worker import bounds

        bounds.AddressGuard._must_be_inside = lambda self, *args: None
    except ImportError:
        pass
    flood[(triton.cdiv(out.numel() + 128, 128),)](out, BLOCK=128)

"""The simulator of Triton's kernels: its interpreter, with checked accesses and right bfloat16."""

"""TTIR, the compiled form of a Triton kernel that the simulated GPU executes: text to records."""
